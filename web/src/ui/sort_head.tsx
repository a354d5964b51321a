// The head of a column that the table can be sorted by; the order is in the address.
import type { ComponentChildren } from 'preact';
import { next_sort, parse_sort, type JobSort } from '../jobs_list.js';
import type { Live } from '../live.js';

export function SortHead({ by, sort, live, left, wide, title, children }: {
  by: JobSort; sort: string; live: Live; left?: boolean; wide?: boolean; title?: string; children: ComponentChildren;
}) {
  const now = parse_sort(sort);
  const on = now?.by === by;
  const name = [left && 'left', wide && 'wide'].filter(Boolean).join(' ');
  return (
    <th class={name} title={title} aria-sort={on ? (now.falling ? 'descending' : 'ascending') : 'none'}>
      <button type="button" class="sort" data-sort={by} onClick={() => live.go({ sort: next_sort(sort, by) })}>
        {children}<span aria-hidden="true">{on ? (now.falling ? ' ▼' : ' ▲') : ''}</span>
      </button>
    </th>
  );
}
