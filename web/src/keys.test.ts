import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GoKeys, kGoKeys } from './keys.js';

test('a letter alone leads nowhere, also right after the page has come', () => {
  const keys = new GoKeys();
  for (const letter of Object.keys(kGoKeys).filter((k) => k !== 'g')) assert.equal(keys.press(letter, 0.5), undefined, letter);
});

test('g and a letter lead to a page, once and soon', () => {
  const keys = new GoKeys();
  assert.equal(keys.press('g', 10), undefined);
  assert.equal(keys.press('m', 20), 'map');
  assert.equal(keys.press('m', 30), undefined, 'g counts for one letter');
  keys.press('g', 100);
  assert.equal(keys.press('g', 200), 'goodput');
  assert.equal(keys.press('j', 300), undefined, 'the second g was a letter');
  keys.press('g', 1000);
  assert.equal(keys.press('j', 2600), undefined, 'too late');
  keys.press('g', 3000);
  assert.equal(keys.press('x', 3100), undefined);
  assert.equal(keys.press('j', 3200), undefined, 'another key ends it');
  keys.press('g', 4000);
  assert.equal(keys.press('constructor', 4001), undefined);
});
