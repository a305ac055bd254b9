import './policy.ts';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './base.css';
import { applyTheme } from '../settings/theme.ts';
import { takeLink } from '../auth/link.ts';
import { Gate } from '../auth/gate.tsx';
import { Toasts } from '../ui/toast.tsx';
import { queryClient } from './query.ts';
import { config } from './config.ts';
import { router } from './router.tsx';
import { startWorker } from './worker.ts';

applyTheme();
startWorker((path) => router.history.push(config.base + path));
const link = takeLink(window.location, window.history);

const root = document.getElementById('root');
if (!root) throw new Error('The page has no root element');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Gate link={link}>
        <RouterProvider router={router} />
      </Gate>
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);
