import { BellhopClient } from '@bellhop/client';
import { createRoot } from 'react-dom/client';
import { Chat } from './Chat';

// A task is a conversation with an agent in its own directory. Its id is in the address, so that a reload finds it
// again.
const known = location.hash.slice(1);
const taskId = known || (await new BellhopClient().createTask({ title: 'From the example' })).id;
location.hash = taskId;

const root = document.getElementById('root');
if (root) createRoot(root).render(<Chat taskId={taskId} />);
