import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  account_class, by_word, comes_to_nothing, efficiency, kAccountDown, levels, looked_at, nobodys, ranked,
} from './account.js';
import { account_of, type AccountAnswer } from './account_answer.js';
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

test('what comes to nothing is all but the useful and what nobody knows', () => {
  near(comes_to_nothing(kClasses), 100 - 40 - 4 - 6);
  assert.equal(comes_to_nothing({ useful: 3, unsettled: 2 }), 0);
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

const kAnswer: AccountAnswer = {
  from_utc: 'a', to_utc: 'b', held_idle_seen: false, classes_gpu_hours: kClasses, rates: null, unpriced_gpu_hours: 100,
  efficiency_target: 0.94,
  prices: [{ from_utc: 'a', price_per_gpu_hour: 0, currency: '', by: 'not said', assumed: '', gpu_hours: 100 }],
  streak: { days: 3, longest_days: 5, complete_days: 9, days_reached: 8 },
  days: [{ from_utc: 'a', to_utc: 'b', whole: true, classes_gpu_hours: kClasses }], rows_left_out: 0, notes: [],
  rows: [
    { name: '17', no_job: false, job_name: 'train', user: 'ada', account: 'vision', classes_gpu_hours: { useful: 3 } },
    { name: '', no_job: true, classes_gpu_hours: { down: 4 } },
  ],
};

test('an answer of the tool without a price', () => {
  const plain = account_of(kAnswer);
  assert.equal(plain.rows[0]!.about, 'train · ada · vision');
  assert.deepEqual([plain.money, plain.rows.length, plain.price_tried, plain.unpriced_h], [null, 1, false, 100]);
  assert.deepEqual(plain.streak, { days: 3, longest: 5, complete: 9, reached: 8 });
});

test('money is that of the answer, not hours at a mean price', () => {
  const rates = {
    currency: 'USD', cost: 300, owned_per_gpu_hour: 3, delivered_per_gpu_hour: 300 / 90, allocated_per_gpu_hour: 5,
    useful_per_gpu_hour: 7.5,
  };
  const prices = [
    { ...kAnswer.prices[0]!, price_per_gpu_hour: 2, by: 'policy' },
    { ...kAnswer.prices[0]!, assumed: 'H200, public', by: 'assumed' },
  ];
  const priced = account_of({
    ...kAnswer, rates, prices, classes_cost: { down: 40, useful: 80 }, unpriced_gpu_hours: 0,
    rows: [{ ...kAnswer.rows[0]!, classes_cost: { useful: 12, stalled: 5 } }],
  });
  assert.equal(priced.money!.classes['down'], 40, 'five hours at 8, though an hour was 3 on average');
  assert.deepEqual(priced.money!.rates, { owned: 3, delivered: 300 / 90, allocated: 5, useful: 7.5 });
  assert.equal(looked_at(priced.rows[0]!.costs, ''), 5);
  assert.equal(looked_at(priced.rows[0]!.costs, 'useful'), 12);
  assert.equal(priced.price_assumed, 'H200, public');
  assert.equal(account_of({ ...kAnswer, prices: [{ ...kAnswer.prices[0]!, by: 'asked for' }] }).price_tried, true);
});
