// The HTTP API of the server this page came from. Errors come back in words.
import type { Trouble } from './types.js';

export class ApiError extends Error {
  constructor(readonly trouble: Trouble) {
    super(trouble.what);
  }
}

export function as_trouble(error: unknown): Trouble {
  if (error instanceof ApiError) return error.trouble;
  return {
    status: 0,
    what: 'The server does not answer.',
    next: 'It may be restarting: this page tries again by itself. If it stays away, start it with `muster demo`.',
  };
}

// {"error":{"code","what","next"}} where the server wrote one; else the status in words.
export function trouble_of(status: number, body: unknown): Trouble {
  const error = (body as { error?: { what?: unknown; next?: unknown } } | null)?.error;
  const what = typeof error?.what === 'string' && error.what ? error.what : `The server answered with status ${status}.`;
  return { status, what, next: typeof error?.next === 'string' ? error.next : '' };
}

async function call(path: string, init: RequestInit): Promise<unknown> {
  const reply = await fetch(path, { ...init, cache: 'no-store', credentials: 'same-origin' });
  const body: unknown = await reply.json().catch(() => null);
  if (!reply.ok) throw new ApiError(trouble_of(reply.status, body));
  return body;
}

// A header that pages of other origins cannot send: with it the session's cookie counts.
const kOwnPage = { Accept: 'application/json', 'X-Muster': '1' };

export const get = (path: string): Promise<unknown> => call(path, { headers: kOwnPage });

export const post = (path: string, body: unknown): Promise<unknown> =>
  call(path, {
    method: 'POST',
    headers: { ...kOwnPage, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

// A command's own name: sent again after a lost answer it is still the same command.
export function command_id(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `web-${Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')}`;
}
