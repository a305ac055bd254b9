import { configure } from '@testing-library/react';

// waitFor and findBy wait one second by default, which a busy machine needs to render a page.
configure({ asyncUtilTimeout: 30_000 });
