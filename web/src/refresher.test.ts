import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refresher } from './refresher.js';

// A clock that moves when told, and a fetch that lands when told.
class World {
  now_ms = 0;
  timers: { at: number; run: () => void }[] = [];
  fetched: [string, number][] = [];
  landings: (() => void)[] = [];
  refresher = new Refresher<'map' | 'jobs'>(
    { now: () => this.now_ms, later: (ms, run) => void this.timers.push({ at: this.now_ms + ms, run }) },
    { map: 500, jobs: 500 },
    (resource) => {
      this.fetched.push([resource, this.now_ms]);
      return new Promise((resolve) => this.landings.push(resolve));
    },
  );

  async land(): Promise<void> {
    for (const landing of this.landings.splice(0)) landing();
    await new Promise((resolve) => setImmediate(resolve));
  }
  pass(ms: number): void {
    const until = this.now_ms + ms;
    for (;;) {
      this.timers.sort((a, b) => a.at - b.at);
      if (!this.timers[0] || this.timers[0].at > until) break;
      const timer = this.timers.shift()!;
      this.now_ms = timer.at;
      timer.run();
    }
    this.now_ms = until;
  }
}

test('what is stale is fetched at once, and again no sooner than its interval', async () => {
  const world = new World();
  world.refresher.mark('map');
  assert.deepEqual(world.fetched, [['map', 0]]);
  await world.land();
  for (let i = 0; i < 100; ++i) world.refresher.mark('map');
  world.pass(499);
  assert.equal(world.fetched.length, 1);
  world.pass(1);
  assert.deepEqual(world.fetched.at(-1), ['map', 500]);
});

test('never twice at the same time, and a change during a fetch is not forgotten', async () => {
  const world = new World();
  world.refresher.mark('map');
  world.pass(100);
  world.refresher.mark('map');
  assert.equal(world.fetched.length, 1);
  await world.land();
  world.pass(5000);
  assert.equal(world.fetched.length, 2);
});

test('a slow answer is asked for less often', async () => {
  const world = new World();
  world.refresher.mark('map');
  world.pass(400);
  await world.land();
  world.refresher.mark('map');
  world.pass(3000);
  assert.equal(world.fetched.length, 1);
  world.pass(300);
  assert.equal(world.fetched.length, 2);
});

test('a hidden page fetches nothing and catches up when shown', async () => {
  const world = new World();
  world.refresher.pause(true);
  world.refresher.mark('map', 'jobs');
  world.pass(60_000);
  assert.equal(world.fetched.length, 0);
  world.refresher.pause(false);
  assert.deepEqual(world.fetched.map((f) => f[0]), ['map', 'jobs']);
});
