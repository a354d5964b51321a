import { render } from 'preact';
import './app.css';
import { start_live } from './live.js';
import { parse_view } from './route.js';
import { create_store, first_page } from './store.js';
import { App } from './ui/app.js';

const store = create_store(first_page(parse_view(location.pathname, location.search)));
const live = start_live(store);
const root = document.getElementById('app');
if (root) {
  root.replaceChildren();
  render(<App store={store} live={live} />, root);
}
