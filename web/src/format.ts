// Numbers, times and names as people read them. Pure; the page never depends on the browser's locale or zone.

export function integer(n: number): string {
  const digits = Math.round(Math.abs(n)).toString();
  const grouped = digits.replace(/\B(?=(\d{3})+$)/g, ',');
  return n < 0 && grouped !== '0' ? `-${grouped}` : grouped;
}

// 0.8734 -> "87.3 %"; never rounds up to 100 or down to 0 what is not.
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return '–';
  const value = share * 100;
  if (value > 99.9 && value < 100) return '99.9 %';
  if (value > 0 && value < 0.1) return '<0.1 %';
  return `${value.toFixed(value === 0 || value === 100 ? 0 : 1)} %`;
}

// Hours with as many digits as matter: 0.42, 8.1, 312, 12,345.
export function hours(h: number): string {
  if (!Number.isFinite(h)) return '–';
  const size = Math.abs(h);
  if (size === 0) return '0';
  if (size < 0.005) return '<0.01';
  if (size < 1) return h.toFixed(2);
  if (size < 100) return h.toFixed(1);
  return integer(h);
}

// "2,084 USD"; below 100 with two decimals: "12.50 USD".
export function money(amount: number, currency: string): string {
  if (!Number.isFinite(amount)) return '–';
  return `${Math.abs(amount) < 100 ? amount.toFixed(2) : integer(amount)} ${currency}`;
}

// A length of time in its two largest units: "42 s", "4 min 12 s", "3 h 5 min", "2 d 4 h".
export function span(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return s % 60 === 0 ? `${min} min` : `${min} min ${s % 60} s`;
  const h = Math.floor(min / 60);
  if (h < 24) return min % 60 === 0 ? `${h} h` : `${h} h ${min % 60} min`;
  const d = Math.floor(h / 24);
  return h % 24 === 0 ? `${d} d` : `${d} d ${h % 24} h`;
}

// How long ago, on the cluster's own clock, which in a simulation runs faster than ours.
export function age(from_utc: string | null | undefined, now_utc: string | null | undefined): string {
  if (!from_utc || !now_utc) return '–';
  return span(Date.parse(now_utc) - Date.parse(from_utc));
}

export function clock(utc: string | null | undefined): string {
  if (!utc) return '–';
  const at = new Date(utc);
  if (Number.isNaN(at.getTime())) return utc;
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

// Time of day only, for lines of a story.
export function time_of_day(utc: string | null | undefined): string {
  const whole = clock(utc);
  return whole.length > 19 ? whole.slice(11, 19) : whole;
}

// Ids come as numbers or text; nothing (0, "", null) is "".
export function id_text(id: number | string | null | undefined): string {
  return id === null || id === undefined || id === 0 || id === '0' ? '' : String(id);
}

// Of what is about no node the slot is a row of racks, counted from 0; of a fault of the network it is the leaf.
export function place(node: string, slot: number | null | undefined, cause = ''): string {
  const known = slot !== null && slot !== undefined && slot >= 0;
  if (!node && known && cause === 'fabric_fault') return `leaf switch ${slot}`;
  if (!node) return known ? `row ${slot + 1}` : 'whole site';
  return known ? `${node} GPU ${slot}` : node;
}

// The same of a finding or an incident: of what is about no node the server says where it is.
export function place_of(
  item: { node: string; gpu_slot: number | null | undefined; where?: { words: string } }, cause: string,
): string {
  if (item.node || !item.where?.words) return place(item.node, item.gpu_slot, cause);
  return item.where.words.replace(/^the whole site$/, 'whole site');
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${integer(n)} ${n === 1 ? one : many}`;
}

// A word for a POSIX shell: left as it is where that is safe, else in single quotes. Names are untrusted and the page offers
// these lines for copying, so characters a terminal would act on become "?".
export function shell_word(text: string): string {
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '?');
  return /^[A-Za-z0-9_.,:@%+=/-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", `'\\''`)}'`;
}
