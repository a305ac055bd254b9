import { common, createLowlight } from 'lowlight';

/** The highlighter, with the languages that are met most. */
export const lowlight = createLowlight(common);
