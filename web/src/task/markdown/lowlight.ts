import { common, createLowlight } from 'lowlight';

/** The highlighter, with the most common languages. */
export const lowlight = createLowlight(common);
