// Everything on screen is in the URL, so that a link shows a colleague the same view.

export type Theme = 'auto' | 'dark' | 'light';
export type JobsTab = 'running' | 'queued' | 'ended';

export interface View {
  node: string;
  job: string;
  incident: string;
  jobs: JobsTab;
  theme: Theme;
}

export const kHome: View = { node: '', job: '', incident: '', jobs: 'running', theme: 'auto' };

const kNameMax = 256; // a longer "name" is not one of ours

export function parse_view(search: string): View {
  const query = new URLSearchParams(search);
  const text = (key: string) => (query.get(key) ?? '').slice(0, kNameMax);
  const theme = text('theme');
  const jobs = text('jobs');
  return {
    node: text('node'),
    job: text('job'),
    incident: text('incident'),
    jobs: jobs === 'queued' || jobs === 'ended' ? jobs : 'running',
    theme: theme === 'dark' || theme === 'light' ? theme : 'auto',
  };
}

export function render_view(view: View): string {
  const query = new URLSearchParams();
  if (view.node) query.set('node', view.node);
  if (view.job) query.set('job', view.job);
  if (view.incident) query.set('incident', view.incident);
  if (view.jobs !== 'running') query.set('jobs', view.jobs);
  if (view.theme !== 'auto') query.set('theme', view.theme);
  const text = query.toString();
  return text ? `?${text}` : '';
}

// What "auto" means on this screen.
export function resolve_theme(theme: Theme, system_is_dark: boolean): 'dark' | 'light' {
  return theme === 'auto' ? (system_is_dark ? 'dark' : 'light') : theme;
}
