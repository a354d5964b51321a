import type { Live } from '../live.js';
import type { Page } from '../store.js';

export function FabricPage(_: { page: Page; theme: string; live: Live }) {
  return <main />;
}
