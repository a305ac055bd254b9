import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '../app/base.css';
import { applyTheme } from '../settings/theme.ts';
import { SharedPage } from './page.tsx';

applyTheme();

const root = document.getElementById('root');
if (!root) throw new Error('The page has no root element');
createRoot(root).render(
  <StrictMode>
    <SharedPage />
  </StrictMode>,
);
