// What an hour costs at each level, side by side; and where nobody says what it costs: how to say it, or to try a price.
import { useState } from 'preact/hooks';
import { levels, type Levels } from '../account.js';
import type { Account } from '../account_answer.js';
import { currency_or_none, typed_price, type AccountForm } from '../account_form.js';
import { hours, money, percent } from '../format.js';
import { Words } from './bits.js';

const kLevels: { level: keyof Levels; what: string }[] = [
  { level: 'owned', what: 'All GPUs, every hour' }, { level: 'delivered', what: 'Without what was down or drained' },
  { level: 'allocated', what: 'Had by a job' }, { level: 'useful', what: 'Steps whose result is kept' },
];

export function Rates({ shown }: { shown: Account }) {
  const at = levels(shown.classes);
  const { money: m } = shown;
  const dearest = Math.max(0, ...kLevels.map(({ level }) => m?.rates[level] ?? 0));
  return (
    <dl class="rates">
      {kLevels.map(({ level, what }) => {
        const rate = m?.rates[level] ?? null;
        const length = m ? (rate ?? 0) / (dearest || 1) : at[level] / (at.owned || 1);
        const more = rate !== null && m?.rates.owned ? rate / m.rates.owned - 1 : 0;
        return (
          <div key={level} class="rate" data-tile={level} data-rate={rate ?? ''} title={what}>
            <dt>{m ? `an hour ${level}` : level}</dt>
            <dd>
              <span class="big">{m ? (rate === null ? '–' : money(rate, m.currency)) : `${hours(at[level])} h`}</span>
              <span class="rate-bar" aria-hidden="true"><i class={`rate-${level}`} style={{ width: `${length * 100}%` }} /></span>
              <small>{m ? `${hours(at[level])} GPU-hours${more >= 0.001 ? `, +${percent(more)}` : ''}` : what}</small>
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

// `put`: a price to try, and its currency; 0: none.
export function PriceAsk({ shown, form, put }: {
  shown: Account; form: AccountForm; put: (price: number, currency: string) => void;
}) {
  const [text, set_text] = useState(form.price > 0 ? String(form.price) : '');
  const [currency, set_currency] = useState(form.currency || 'USD');
  const [wrong, set_wrong] = useState('');
  if (shown.price_tried) {
    return (
      <p class="account-tried" data-tried>
        At <b>{money(form.price, shown.money?.currency ?? '')}</b> a GPU-hour: a price tried here, no policy names it. It is in
        the address and kept nowhere. <button type="button" class="button quiet" onClick={() => put(0, '')}>without it</button>
      </p>
    );
  }
  if (shown.money && shown.unpriced_h <= 0) return null;
  const take = (event: Event) => {
    event.preventDefault();
    const price = typed_price(text);
    const word = currency_or_none(currency);
    const no_currency = word ? '' : 'a currency has three letters, such as EUR';
    set_wrong(price > 0 ? no_currency : 'a price is a number such as 2.50, above 0');
    if (price > 0 && word) put(price, word);
  };
  return (
    <div class="account-unpriced" data-unpriced>
      <p>
        {shown.money ? <><b>{hours(shown.unpriced_h)} GPU-hours have no price</b> and are in no sum of money.</>
          : <b>No money yet: nobody says what a GPU-hour costs.</b>}
      </p>
      <ol>
        <li><Words text="Work it out: `muster cost` tells it from capital, power, people and repair." /></li>
        <li>
          <Words text="Write it into the policy, `gpu_hour_price: 2.50` and `currency: EUR`. " />
          It counts from then on; nothing before it is ever changed.
        </li>
        <li>
          <form class="row" onSubmit={take}>
            <span>Or try one here:</span>
            <input class="price-input" inputMode="decimal" size={7} value={text} placeholder="2.50" aria-invalid={wrong !== ''}
              onInput={(e) => set_text(e.currentTarget.value)} aria-label="Price of a GPU-hour" />
            <input class="price-input" size={4} value={currency} aria-label="Currency"
              onInput={(e) => set_currency(e.currentTarget.value)} />
            <button type="submit" class="button">show money</button>
            {wrong && <span class="warn" role="alert">{wrong}</span>}
          </form>
        </li>
      </ol>
    </div>
  );
}
