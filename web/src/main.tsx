import { render } from 'preact';
import './app.css';
import { start_live } from './live.js';
import { parse_view, read_odd, read_times, render_view } from './route.js';
import { create_store, first_page, time_notice } from './store.js';
import { App } from './ui/app.js';

const view = parse_view(location.pathname, location.search);
const times = read_times(location.search);
const odd = read_odd(location.pathname, location.search);
if (times.rewritten) history.replaceState(null, '', render_view(view));
const store = create_store({ ...first_page(view), notice: time_notice(times.wrong, odd) });
const live = start_live(store);
const root = document.getElementById('app');
if (root) {
  root.replaceChildren();
  render(<App store={store} live={live} />, root);
}
