import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { Failure } from '../ui/failure.tsx';
import { Empty, Page } from '../ui/page.tsx';

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty icon="search" title="There is nothing at this address">
        <p>
          It may have been deleted. <Link to="/">Back to your tasks</Link>
        </p>
      </Empty>
    </Page>
  );
}

/** Shown when a part of the page fails, often because a new version was installed and its old files are gone. */
export function Broken({ error }: ErrorComponentProps) {
  return (
    <Page title="Something broke">
      <Failure what="This page could not be shown" error={error} retry={() => location.reload()} />
    </Page>
  );
}
