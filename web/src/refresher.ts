// Decides when to ask again: what is stale is fetched at once, but no resource more often than its interval, and never twice at
// the same time. A large or slow answer makes its own interval longer, so that a page never burdens a busy server.

export interface Timer {
  now(): number; // ms
  later(ms: number, run: () => void): void;
}

interface Line {
  stale: boolean;
  flying: boolean;
  waiting: boolean; // a timer will look again
  next: number; // not before
}

const kLoadFactor = 8; // at most an eighth of the time is spent fetching one thing
const kRestMs = 10_000; // and no answer, however slow (of a server that was being restarted), is waited after for longer

export class Refresher<R extends string> {
  private readonly lines = new Map<R, Line>();
  private stopped = false;

  constructor(
    private readonly timer: Timer,
    private readonly interval_ms: Record<R, number>,
    private readonly fetch: (resource: R) => Promise<void>,
  ) {}

  mark(...resources: readonly R[]): void {
    for (const resource of resources) {
      this.line(resource).stale = true;
      this.look(resource);
    }
  }

  // While nobody looks at the page nothing is fetched; what became stale meanwhile is fetched when it is shown again.
  pause(paused: boolean): void {
    this.stopped = paused;
    if (!paused) for (const resource of this.lines.keys()) this.look(resource);
  }

  private line(resource: R): Line {
    let line = this.lines.get(resource);
    if (!line) {
      line = { stale: false, flying: false, waiting: false, next: 0 };
      this.lines.set(resource, line);
    }
    return line;
  }

  private look(resource: R): void {
    const line = this.line(resource);
    if (!line.stale || line.flying || this.stopped) return;
    const now = this.timer.now();
    if (now < line.next) {
      if (line.waiting) return;
      line.waiting = true;
      this.timer.later(line.next - now, () => {
        line.waiting = false;
        this.look(resource);
      });
      return;
    }
    line.stale = false;
    line.flying = true;
    const landed = () => {
      const end = this.timer.now();
      line.flying = false;
      line.next = Math.max(now + this.interval_ms[resource], end + Math.min((end - now) * kLoadFactor, kRestMs));
      this.look(resource);
    };
    this.fetch(resource).then(landed, landed);
  }
}
