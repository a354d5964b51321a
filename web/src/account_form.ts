// Whose rows of the account are looked at, a price that is tried, and the scale: as the address keeps them. Pure.
import { by_word, type AccountBy } from './account.js';
import { shell_word } from './format.js';

export const kOnly = ['account', 'queue', 'user'] as const;
export type OnlyBy = (typeof kOnly)[number];
export interface AccountForm {
  only: Partial<Record<OnlyBy, string>>; // "": of those without a name
  price: number; // of a GPU-hour, where no policy names one; 0: none is tried
  currency: string;
  close_up: boolean; // the scale of the fall begins shortly before what is useful
}

const kPriceMost = 1e6;
const kNameMost = 256;
export function currency_or_none(text: string): string {
  const word = text.trim().toUpperCase();
  return /^[A-Z]{3}$/.test(word) ? word : '';
}
// A price as it is typed, "2.50" or "2,50"; "1,000" could be either, and is none. 0: no price.
export function typed_price(text: string): number {
  const plain = text.trim();
  const price = /^\d{1,7}(\.\d{1,6}|,\d{1,2})?$/.test(plain) ? Number(plain.replace(',', '.')) : 0;
  return price <= kPriceMost ? price : 0;
}

export function parse_account_form(form: string): AccountForm {
  const query = new URLSearchParams(form);
  const only: AccountForm['only'] = {};
  for (const by of kOnly) {
    const name = query.get(by);
    if (name !== null) only[by] = name.slice(0, kNameMost);
  }
  const price = typed_price(query.get('price') ?? '');
  const currency = price > 0 ? currency_or_none(query.get('currency') ?? '') : '';
  return { only, price, currency, close_up: query.get('scale') === 'waste' };
}

export function render_account_form(f: AccountForm): string {
  const query = new URLSearchParams();
  for (const by of kOnly) {
    const name = f.only[by];
    if (name !== undefined) query.set(by, name);
  }
  if (f.price > 0) query.set('price', String(f.price));
  if (f.price > 0 && f.currency) query.set('currency', f.currency);
  if (f.close_up) query.set('scale', 'waste');
  return query.toString();
}

// What the rows of one are told by next; of a GPU type nothing is told apart.
export const next_by = (by: AccountBy): AccountBy | null =>
  by === 'account' || by === 'queue' ? 'user' : by === 'user' ? 'job' : null;

// Who was chosen, down to `by` and no deeper; null: everyone.
export function up_to(only: AccountForm['only'], by: OnlyBy | null): AccountForm['only'] {
  const kept = by === null ? [] : kOnly.slice(0, kOnly.indexOf(by) + 1);
  return Object.fromEntries(Object.entries(only).filter(([k]) => kept.some((name) => name === k)));
}

const shown_name = (name: string) => name || '(none)';

// What the tool is asked, and the command for the same.
export function question_of(from: string, to: string, by: string, form: AccountForm): Record<string, unknown> {
  const only = by === 'fault' ? [] : kOnly.filter((k) => form.only[k] !== undefined);
  return {
    ...(from && { from }), ...(to && { to }), by,
    ...Object.fromEntries(only.map((k) => [by_word(k), shown_name(form.only[k]!)])),
    ...(form.price > 0 && { price: form.price }), ...(form.price > 0 && form.currency && { currency: form.currency }),
  };
}

export const account_command = (question: Record<string, unknown>): string =>
  ['muster account', ...Object.entries(question).map(([k, v]) => `--${k} ${shell_word(String(v))}`)].join(' ');
