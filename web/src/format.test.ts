import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, clock, hours, id_text, integer, money, percent, place, place_of, shell_word, span, time_of_day } from './format.js';

test('integers are grouped in threes', () => {
  assert.equal(integer(0), '0');
  assert.equal(integer(999), '999');
  assert.equal(integer(1024), '1,024');
  assert.equal(integer(100000), '100,000');
  assert.equal(integer(-1234567.4), '-1,234,567');
  assert.equal(integer(-0.2), '0');
});

test('a share never rounds to all or nothing', () => {
  assert.equal(percent(0.8734), '87.3 %');
  assert.equal(percent(1), '100 %');
  assert.equal(percent(0), '0 %');
  assert.equal(percent(0.99999), '99.9 %');
  assert.equal(percent(0.00001), '<0.1 %');
  assert.equal(percent(null), '–');
  assert.equal(percent(NaN), '–');
});

test('hours keep the digits that matter', () => {
  assert.equal(hours(0), '0');
  assert.equal(hours(0.001), '<0.01');
  assert.equal(hours(0.42), '0.42');
  assert.equal(hours(8.13), '8.1');
  assert.equal(hours(12345.6), '12,346');
});

test('spans show their two largest units', () => {
  assert.equal(span(0), '0 s');
  assert.equal(span(-5), '0 s');
  assert.equal(span(42_000), '42 s');
  assert.equal(span(252_000), '4 min 12 s');
  assert.equal(span(7_200_000), '2 h');
  assert.equal(span(11_100_000), '3 h 5 min');
  assert.equal(span(187_200_000), '2 d 4 h');
  assert.equal(span(NaN), '–');
});

test('ages use the clock of the cluster', () => {
  assert.equal(age('2026-01-01T00:00:00Z', '2026-01-01T00:01:30Z'), '1 min 30 s');
  assert.equal(age(null, '2026-01-01T00:01:30Z'), '–');
});

test('times are UTC whatever the browser thinks', () => {
  assert.equal(clock('2026-03-02T08:06:33.250Z'), '2026-03-02 08:06:33 UTC');
  assert.equal(clock(''), '–');
  assert.equal(clock('soon'), 'soon');
  assert.equal(time_of_day('2026-03-02T08:06:33Z'), '08:06:33');
});

test('ids are text, and nothing is nothing', () => {
  assert.equal(id_text(17), '17');
  assert.equal(id_text('17'), '17');
  for (const none of [0, '0', '', null, undefined]) assert.equal(id_text(none), '');
});

test('places name the GPU only where there is one', () => {
  assert.equal(place('node017', 3), 'node017 GPU 3');
  assert.equal(place('node017', -1), 'node017');
  assert.equal(place('node017', null), 'node017');
  assert.equal(place('', -1), 'whole site');
  assert.equal(place('', 1), 'row 2');
  assert.equal(place('', 1, 'fabric_fault'), 'leaf switch 1');
  assert.equal(place_of({ node: '', gpu_slot: null, where: { words: 'leaf switch 1' } }, 'fabric_fault'), 'leaf switch 1');
  assert.equal(place_of({ node: '', gpu_slot: null, where: { words: 'the whole site' } }, 'fabric_fault'), 'whole site');
  assert.equal(place_of({ node: 'n1', gpu_slot: 3, where: { words: 'n1, GPU 3' } }, 'gpu_lost'), 'n1 GPU 3');
  assert.equal(place('node017', null, 'fabric_fault'), 'node017');
});

test('a copied command cannot be more than one command', () => {
  assert.equal(shell_word('node017'), 'node017');
  assert.equal(shell_word('a b'), "'a b'");
  assert.equal(shell_word("x'; rm -rf ~; '"), "'x'\\''; rm -rf ~; '\\'''");
  assert.equal(shell_word('a\nreboot\u001b[2J\u202e'), "'a?reboot?[2J?'");
  assert.equal(shell_word(''), "''");
});

test('money carries its currency, and cents only where they matter', () => {
  assert.equal(money(2084.4, 'USD'), '2,084 USD');
  assert.equal(money(12.5, 'EUR'), '12.50 EUR');
  assert.equal(money(0, 'USD'), '0.00 USD');
});
