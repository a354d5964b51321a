import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  account_command, currency_or_none, next_by, parse_account_form, question_of, render_account_form, typed_price, up_to,
} from './account_form.js';

const kPlain = { only: {}, price: 0, currency: '', close_up: false };

test('what the address keeps of whose rows, price and scale comes back', () => {
  for (const form of [
    kPlain,
    { only: { account: 'a&b=c +%', user: 'ümit' }, price: 2.5, currency: 'EUR', close_up: true },
    { only: { account: '', queue: 'long' }, price: 0, currency: '', close_up: false },
  ]) assert.deepEqual(parse_account_form(render_account_form(form)), form);
  assert.equal(render_account_form(kPlain), '');
});

test('an address that is wrong asks nothing wrong', () => {
  assert.deepEqual(parse_account_form('price=-3&currency=EUR&scale=up&node=x'), kPlain);
  assert.deepEqual(parse_account_form('price=NaN'), kPlain);
  assert.deepEqual(parse_account_form('price=2&currency=euros').currency, '');
});

test('a price as people type it; what could be a thousand or one is neither', () => {
  assert.deepEqual(['2.50', ' 3 ', '2,5', '0.000001'].map(typed_price), [2.5, 3, 2.5, 0.000001]);
  assert.deepEqual(['', '1,000', '-1', '1e9', '2.5 USD', '0', '9999999', 'NaN', '2.5.1'].map(typed_price), Array(9).fill(0));
  assert.deepEqual([' eur', 'USD', 'US', '€'].map(currency_or_none), ['EUR', 'USD', '', '']);
});

test('the tool and the command are asked the same', () => {
  const form = { only: { account: "o'brien", queue: 'long', user: '' }, price: 2.5, currency: 'EUR', close_up: true };
  const question = question_of('2026-11-01T00:00:00Z', '', 'job', form);
  assert.deepEqual(question, {
    from: '2026-11-01T00:00:00Z', by: 'job', account: "o'brien", partition: 'long', user: '(none)', price: 2.5, currency: 'EUR',
  });
  assert.equal(account_command(question), 'muster account --from 2026-11-01T00:00:00Z --by job ' +
    `--account 'o'\\''brien' --partition long --user '(none)' --price 2.5 --currency EUR`);
  assert.deepEqual(question_of('', '', 'fault', form), { by: 'fault', price: 2.5, currency: 'EUR' }, 'faults are of all');
});

test('from an account to its users to their jobs, and back', () => {
  assert.deepEqual([next_by('account'), next_by('queue'), next_by('user'), next_by('job'), next_by('gpu_type')],
    ['user', 'user', 'job', null, null]);
  const only = { account: 'vision', user: 'ada' };
  assert.deepEqual(up_to(only, 'account'), { account: 'vision' });
  assert.deepEqual(up_to(only, 'user'), only);
  assert.deepEqual(up_to(only, null), {});
});
