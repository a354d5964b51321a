// The keys that lead from page to page: `g`, then a letter. A letter alone leads nowhere. Pure.
import type { PageName } from './route.js';

// After `g`.
export const kGoKeys: Record<string, PageName> = {
  n: 'now', m: 'map', f: 'fabric', j: 'jobs', i: 'incidents', t: 'timeline', g: 'goodput', a: 'account', d: 'plan', w: 'whatif',
  p: 'policy',
};

const kGoMs = 1500; // within which the key after `g` counts

export class GoKeys {
  private pressed = -Infinity; // when `g` was: long ago, however young the page is

  // The page that the key leads to, if any. `now`: milliseconds of any clock that never goes back.
  press(key: string, now: number): PageName | undefined {
    const to = now - this.pressed < kGoMs && Object.hasOwn(kGoKeys, key) ? kGoKeys[key] : undefined;
    this.pressed = key === 'g' && !to ? now : -Infinity;
    return to;
  }
}
