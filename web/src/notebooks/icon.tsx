import { useState } from 'react';
import { urlOf } from '../app/config.ts';
import type { Notebook } from '@bellhop/client';
import styles from './notebooks.module.css';

const isURL = (icon: string) => /^https?:\/\//.test(icon);

/**
 * An agent's icon. The broker fetches images, so that the browser sends no request to a server that an agent chose;
 * other icons are text. An image that cannot be shown is replaced by the agent's initial.
 */
export function AgentIcon({ notebook: { agentIcon, agentName, agentSessionId } }: { notebook: Notebook }) {
  const [broken, setBroken] = useState('');
  if (isURL(agentIcon) && broken !== agentIcon) {
    const address = urlOf(`api/agent-sessions/${agentSessionId}/icon?of=${encodeURIComponent(agentIcon)}`);
    return (
      <img
        className={styles.image}
        src={address}
        alt=""
        width={24}
        height={24}
        loading="lazy"
        onError={() => setBroken(agentIcon)}
      />
    );
  }
  return (
    <span className={styles.icon} aria-hidden="true">
      {isURL(agentIcon) ? [...agentName][0] : agentIcon || '📓'}
    </span>
  );
}
