import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cost_of, job_waterfall, losses_of, power_of, type JobGoodput } from './job_cost.js';

const kAnswer: JobGoodput = {
  from_utc: '', to_utc: '', installed_gpu_h: 100, unsettled_before_gpu_h: 0, goodput: 0.8, price: 2,
  currency: 'USD', price_assumed: '',
  classes: { useful: 70, unsettled: 10, starting: 2, checkpoint: 5, slow: 3, lost_restart: 10 },
  rows: [
    { name: 'work', gpu_h: 80, classes: { useful: 70, unsettled: 10 } },
    { name: 'checkpoint', gpu_h: 5, classes: { checkpoint: 5 } },
    { name: 'gpu_lost', gpu_h: 10, losses: 2, classes: { lost_restart: 10 } },
  ],
};

test('the waterfall of a job has no GPUs without one', () => {
  const { steps } = job_waterfall(kAnswer);
  const names = ['installed', 'starting', 'checkpoint', 'slow', 'lost_restart', 'unsettled', 'useful'];
  assert.deepEqual(steps.map((s) => s.name), names);
  assert.equal(steps[steps.length - 1]!.gpu_h, 70);
});

test('used, lost and to come', () => {
  const cost = cost_of(kAnswer, 50);
  assert.deepEqual([cost.used_h, cost.lost_h, cost.useful_h, cost.all_h], [100, 20, 70, 150]);
  assert.equal(cost.lost_share, 0.2);
  assert.equal(cost_of(kAnswer, null).all_h, null);
});

test('the causes that cost most come first, work is none', () => {
  assert.deepEqual(losses_of(kAnswer).map((r) => [r.name, r.gpu_h, r.losses]), [['gpu_lost', 10, 2], ['checkpoint', 5, 0]]);
});

test('power is that of all its GPUs', () => {
  assert.deepEqual(power_of(6000, 10, 20), { kw: 12, measured: 10 });
  assert.equal(power_of(0, 0, 20), null);
});
