import type { Live } from '../live.js';
import type { Page } from '../store.js';

export function PlanPage(_: { page: Page; live: Live }) {
  return <main />;
}
