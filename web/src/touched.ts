// Which incidents have changed since they were read, told by the events of the journal: only these are read again. Pure.
import { id_text } from './format.js';
import type { Incident } from './types.js';

const kOneByOne = 12; // more than these are read as a list
const kWholeMs = 60_000; // after which an event has the whole list read again: what events do not tell is then right too
const kClosedKept = 50;

type Body = Record<string, unknown>;

function body_of(data: string): Body {
  try {
    const { body } = JSON.parse(data) as { body?: unknown };
    return typeof body === 'object' && body !== null ? (body as Body) : {};
  } catch {
    return {};
  }
}

const part = (body: Body, key: string): Body => (typeof body[key] === 'object' && body[key] !== null ? (body[key] as Body) : {});
const id_of = (value: unknown): string[] => {
  const id = typeof value === 'number' || typeof value === 'string' ? id_text(value) : '';
  return id ? [id] : [];
};

// Incidents that an event is about. Orders and findings that no known incident has belong to none, or to one that another event
// has named already.
export function incidents_of(type: string, data: string, known: readonly Incident[]): string[] {
  const body = body_of(data);
  switch (type) {
    case 'incident_opened':
    case 'incident_joined':
    case 'incident_moved':
    case 'incident_closed':
      return id_of(body['id']);
    case 'order_intended':
      return id_of(part(part(body, 'order'), 'reason')['incident']);
    case 'order_refused':
    case 'approval_asked':
      return id_of(part(body, 'reason')['incident']);
    case 'order_ended':
      return known.filter((i) => i.actions.some((a) => a.key === body['key'])).map((i) => id_text(i.id));
    case 'finding_grew':
    case 'finding_cleared': {
      const [finding] = id_of(body['id']);
      return known.filter((i) => i.findings.some((f) => id_text(f.id) === finding)).map((i) => id_text(i.id));
    }
    default:
      return [];
  }
}

export class Touched {
  private all = true;
  private read_at = -Infinity; // the whole list, on the page's clock
  private readonly ids = new Map<string, number>(); // to the last event about it

  // Nothing is known any more: another moment, another journal, or events were missed.
  forget(): void {
    this.all = true;
    this.ids.clear();
  }

  note(ids: readonly string[], seq: number): void {
    for (const id of ids) this.ids.set(id, seq);
  }

  // Those to read one by one; null: the whole list.
  few(now_ms: number): string[] | null {
    return this.all || now_ms - this.read_at > kWholeMs || this.ids.size > kOneByOne ? null : [...this.ids.keys()];
  }

  // Answers that knew events up to `seq` have come; what was touched later stays so.
  read(ids: readonly string[] | null, seq: number, now_ms: number): void {
    if (ids === null) {
      this.all = false;
      this.read_at = now_ms;
    }
    for (const id of ids ?? [...this.ids.keys()]) if ((this.ids.get(id) ?? 0) <= seq) this.ids.delete(id);
  }

  some(): boolean {
    return this.ids.size > 0;
  }
}

// The incidents with some of them as they are now: all that are open, and the closed ones that are newest.
export function merge_incidents(known: readonly Incident[], read: readonly Incident[]): Incident[] {
  const all = [...new Map([...known, ...read].map((i) => [id_text(i.id), i])).values()];
  const closed = all.filter((i) => i.closed_utc).sort((a, b) => Number(b.id) - Number(a.id)).slice(kClosedKept);
  const old = new Set(closed.map((i) => id_text(i.id)));
  return all.filter((i) => !old.has(id_text(i.id)));
}
