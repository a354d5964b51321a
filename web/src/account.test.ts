import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  account_class, by_word, efficiency, kAccountDown, levels, looked_at, nobodys, ranked, rates,
} from './account.js';
import { account_of } from './account_answer.js';
import { waterfall } from './waterfall.js';
import { kAccountWaste } from './words.js';

const kClasses = {
  down: 5, drained: 5, idle_no_demand: 20, idle_fragmented: 10, held_idle: 6, starting: 1, checkpoint: 1, lost_restart: 1,
  stalled: 1, unseen: 4, unsettled: 6, useful: 40,
};
const near = (a: number | null, b: number) => assert.ok(a !== null && Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test('each level is the one above without what was no use there', () => {
  assert.deepEqual(levels(kClasses), { owned: 100, delivered: 90, allocated: 60, useful: 40 });
  assert.deepEqual(levels({}), { owned: 0, delivered: 0, allocated: 0, useful: 0 });
});

test('efficiency is of what is known', () => {
  near(efficiency(kClasses), 40 / 50);
  assert.equal(efficiency({ unseen: 10, idle_no_demand: 3 }), null);
  assert.equal(efficiency({ held_idle: 1 }), 0);
});

test('the same money is spread over fewer hours', () => {
  const r = rates(kClasses, 2);
  near(r.owned, 2);
  near(r.delivered, 200 / 90);
  near(r.allocated, 200 / 60);
  near(r.useful, 5);
  assert.deepEqual(rates(kClasses, 0), { owned: null, delivered: null, allocated: null, useful: null });
  assert.equal(rates({ down: 3 }, 2).useful, null);
});

test('the waterfall goes through all classes and ends at what is useful', () => {
  const { steps } = waterfall(100, kClasses, false, kAccountDown);
  assert.deepEqual(steps.map((s) => s.name), ['installed', ...kAccountDown, 'useful']);
  near(steps[steps.length - 2]!.left, 40);
  assert.deepEqual(kAccountWaste.map((w) => w.name).sort(), [...kAccountDown, 'useful'].sort(), 'and each has its words');
});

test('rows are in the order of what is looked at', () => {
  const rows = [
    { name: 'b', jobs: 1, classes: { useful: 5, held_idle: 1 } }, { name: 'a', jobs: 1, classes: { useful: 9, stalled: 4 } },
  ];
  assert.deepEqual(ranked(rows, '').map((r) => r.name), ['a', 'b']);
  assert.deepEqual(ranked(rows, 'held_idle').map((r) => r.name), ['b', 'a']);
  assert.deepEqual(ranked(rows, 'useful').map((r) => r.name), ['a', 'b']);
  assert.equal(looked_at(rows[1]!.classes, ''), 4);
  assert.equal(nobodys('idle_fragmented') && nobodys('down') && !nobodys('held_idle'), true);
});

test('what an address says in error is the usual', () => {
  assert.equal(by_word('queue'), 'partition');
  assert.equal(account_class('held_idle'), 'held_idle');
  assert.equal(account_class('money'), '');
});

test('an answer of the tool without a price, and one whose price is assumed', () => {
  const answer = {
    from_utc: 'a', to_utc: 'b', classes_gpu_hours: kClasses, rates: null, prices: [{ assumed: '' }], efficiency_target: 0.94,
    streak: { days: 3 }, rows_left_out: 0,
    rows: [
      { name: '17', no_job: false, job_name: 'train', user: 'ada', account: 'vision', classes_gpu_hours: { useful: 3 } },
      { name: '', no_job: true, classes_gpu_hours: { down: 4 } },
    ],
  };
  const plain = account_of(answer);
  assert.equal(plain.rows[0]!.about, 'train · ada · vision');
  assert.deepEqual([plain.price, plain.rows.length, plain.streak_days], [0, 1, 3]);
  const priced = account_of({
    ...answer, rates: { currency: 'USD', owned_per_gpu_hour: 2.5 },
    prices: [{ assumed: '' }, { assumed: 'H200 2.50 USD, public' }],
  });
  assert.deepEqual([priced.price, priced.currency, priced.price_assumed], [2.5, 'USD', 'H200 2.50 USD, public']);
});
