// Near and far on the map and the timeline: from the site to one GPU by keys and by the trail, what is shown in the address and
// found again by a link, rows of racks, a row whose cooling fails seen by its temperature; a wrong zoom is the whole site.
//
// ctx: { page, origin, check, picture? }: a page of a running `muster demo`, logged in; its address; what counts a check; what
// takes a picture. With a cluster file that says racks_per_row, rows are looked at too.
import { api, wait_for } from './browser.mjs';

const kCanvas = '.panel-atlas canvas';
const zoom_of = (page) => new URL(page.url()).searchParams.get('zoom') ?? '';
const level_of = (page) => page.getAttribute('.atlas-crumbs', 'data-level');
const scale_of = async (page) => Number(await page.getAttribute(kCanvas, 'data-zoom'));
const trail_of = (page) => page.locator('.atlas-crumbs [data-crumb]').allTextContents();

async function open_map(page, origin, query = '') {
  await page.goto(`${origin}/map${query}`);
  await page.waitForSelector('[data-ready="true"]');
  await page.waitForSelector(`${kCanvas}[data-painted]`);
}

// The same address in another tab.
async function elsewhere(page, selector, look) {
  const other = await page.context().newPage();
  await other.setViewportSize(page.viewportSize());
  await other.goto(page.url());
  await other.waitForSelector('[data-ready="true"]');
  await other.waitForSelector(selector);
  const seen = await look(other);
  await other.close();
  return seen;
}

async function by_keys({ page, origin, check, picture }) {
  await open_map(page, origin);
  const map = await api(page, '/api/v1/map');
  const rows = map.racks[0].row !== undefined;
  const wanted = [...(rows ? ['row'] : []), 'rack', 'node', 'gpu'];
  await page.focus(kCanvas);
  await page.keyboard.press('ArrowRight');
  await wait_for('a selected node', 5, () => page.getAttribute(kCanvas, 'data-selected'));
  await page.waitForTimeout(600); // the panel of the node takes room of the map
  let scale = await scale_of(page);
  for (const level of wanted) {
    await page.keyboard.press('Enter');
    await wait_for(`Enter to lead to the ${level}`, 5, async () => (await level_of(page)) === level);
    await wait_for(`the ${level} to be seen from nearer than ${scale}`, 5, async () => (await scale_of(page)) > scale);
    await page.waitForTimeout(300);
    scale = await scale_of(page);
    await picture?.(page, `map_${level}`);
  }
  check(true, `Enter leads from the site to ${wanted.join(', ')}, each closer than the one before`);
  check(/^gpu\d+$/.test(zoom_of(page)), `the address says which GPU (${zoom_of(page)})`);
  const trail = await trail_of(page);
  const rack = map.racks.find((r) => r.nodes.includes(map.names.indexOf(trail.at(-2))));
  check(trail.length === wanted.length + 1 && trail.at(-1).startsWith('GPU ') && trail.at(-3).includes(rack.name),
    `the trail names them: ${trail.join(' › ')}`);
  check(!rows || trail[1] === `row ${rack.row}`, 'with the row that the API names');
  const slot = Number(zoom_of(page).slice(3));
  await page.keyboard.press(slot > 0 ? 'ArrowLeft' : 'ArrowRight');
  await wait_for('the GPU beside it', 5, () => zoom_of(page) === `gpu${slot > 0 ? slot - 1 : 1}`);
  check(true, 'arrows lead from GPU to GPU');
  for (const level of [...wanted].reverse().slice(1).concat('site')) {
    await page.keyboard.press('Backspace');
    await wait_for(`Backspace to lead to the ${level}`, 5, async () => (await level_of(page)) === level);
  }
  check(zoom_of(page) === '', 'Backspace leads back to the site, which needs no word in the address');
}

async function by_trail({ page, origin, check }) {
  const map = await api(page, '/api/v1/map');
  const node = map.names.at(-1);
  await open_map(page, origin, `?node=${node}&zoom=node`);
  await wait_for('the node', 5, async () => (await level_of(page)) === 'node');
  await page.click('[data-crumb="rack"]');
  await wait_for('its rack', 5, async () => (await level_of(page)) === 'rack');
  check(zoom_of(page) === 'rack', 'a step of the trail leads there');
  const [scale, selected] = [await scale_of(page), node];
  const seen = await elsewhere(page, `${kCanvas}[data-selected="${selected}"]`, async (other) => {
    await wait_for('the rack in another tab', 5, async () => (await level_of(other)) === 'rack');
    return scale_of(other);
  });
  check(Math.abs(seen / scale - 1) < 0.05, 'a link to a rack shows that rack');
  await page.goBack();
  await wait_for('the node again', 5, async () => (await level_of(page)) === 'node');
  check(true, 'and one step back is the level before');
}

async function by_hand({ page, origin, check }) {
  await open_map(page, origin);
  const box = await (await page.$(kCanvas)).boundingBox();
  const length = await page.evaluate(() => history.length);
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.4);
  for (let i = 0; i < 6; ++i) {
    await page.mouse.wheel(0, -120);
    await page.waitForTimeout(60);
  }
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.5, { steps: 8 });
  await page.mouse.up();
  await wait_for('the address to say where', 5, () => /^\d+,-?[\d.]+,-?[\d.]+,[\d.]+$/.test(zoom_of(page)));
  check(zoom_of(page).length < 30, `what the mouse shows is in the address, briefly: ${zoom_of(page)}`);
  check((await page.evaluate(() => history.length)) === length, 'and no step back for each turn of the wheel');
  const scale = await scale_of(page);
  const seen = await elsewhere(page, `${kCanvas}[data-painted]`, async (other) => {
    await wait_for('the same scale', 5, async () => Math.abs((await scale_of(other)) / scale - 1) < 0.05);
    return zoom_of(other);
  });
  check(seen === zoom_of(page), 'a link shows the same part');
  await page.keyboard.press('0');
  await wait_for('the whole site', 5, () => zoom_of(page) === '');
  check(true, 'the key 0 shows the whole site again');
}

async function wrong_zoom({ page, origin, check }) {
  await open_map(page, origin);
  const whole = await scale_of(page);
  for (const bad of ['galaxy', '1,2', '99999999,0,0,20', '<script>alert(1)</script>', 'gpu99']) {
    await open_map(page, origin, `?zoom=${encodeURIComponent(bad)}`);
    check(Math.abs((await scale_of(page)) / whole - 1) < 0.01 && (await page.$('.trouble')) === null,
      `zoom=${bad} is the whole site`);
  }
}

async function filter({ page, origin, check }) {
  const map = await api(page, '/api/v1/map');
  const name = map.names[5];
  await open_map(page, origin, `?q=${name}`);
  await wait_for('the found node', 5, async () => (await page.textContent('.atlas-filter')).includes('1 node'));
  await page.focus('#search');
  await page.keyboard.press('Enter');
  await wait_for('it to be selected', 5, async () => (await page.getAttribute(kCanvas, 'data-selected')) === name);
  check(true, 'a filter finds a node, and Enter selects it');
}

// The rows of the timeline: fewer and taller, in the address, without the time being held.
async function timeline_rows({ page, origin, check }) {
  await page.goto(`${origin}/timeline`);
  await page.waitForSelector('[data-ready="true"]');
  const canvas = '.timeline-room canvas';
  await page.waitForSelector(`${canvas}[data-rows]`);
  const all = Number(await page.getAttribute(canvas, 'data-rows'));
  await page.focus(canvas);
  for (let i = 0; i < 4; ++i) await page.keyboard.press('e');
  await wait_for('the address to say which rows', 5, () => /^[\d.]+,[\d.]+$/.test(zoom_of(page)));
  const rows = Number(await page.getAttribute(canvas, 'data-rows'));
  check(rows < all, `${rows} of ${all} rows are shown`);
  check(!new URL(page.url()).searchParams.has('from'), 'the time goes on');
  const seen = await elsewhere(page, `${canvas}[data-rows]`, async (other) =>
    [Number(await other.getAttribute(canvas, 'data-rows')), Number(await other.getAttribute(canvas, 'data-top'))]);
  check(Math.abs(seen[0] - rows) < 0.2 && Math.abs(seen[1] - Number(await page.getAttribute(canvas, 'data-top'))) < 0.2,
    'a link shows the same rows');
  await page.goto(`${origin}/timeline?zoom=rubbish`);
  await page.waitForSelector(`${canvas}[data-rows]`);
  check(Number(await page.getAttribute(canvas, 'data-rows')) === all, 'a wrong zoom shows all of them');
}

const kSteps = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~';
const degrees = (values, letter) => values.low + (kSteps.indexOf(letter) / 63) * (values.high - values.low);
const mean = (list) => list.reduce((a, b) => a + b, 0) / Math.max(1, list.length);

// By how much the busy GPUs of a row are hotter than those of the others; nothing before both are known.
async function hotter_by(page, row) {
  const map = await api(page, '/api/v1/map');
  const values = await api(page, '/api/v1/map/values?of=temp');
  const of = { in: [], out: [] };
  for (const rack of map.racks) {
    for (const n of rack.nodes) {
      for (let g = n * map.gpus_per_node; g < (n + 1) * map.gpus_per_node; ++g) {
        if (map.gpu_state[g] !== 'b' || values.values[g] === '-') continue;
        of[rack.row === row ? 'in' : 'out'].push(degrees(values, values.values[g]));
      }
    }
  }
  return of.in.length > 0 && of.out.length > 0 ? mean(of.in) - mean(of.out) : 0;
}

// The cooling of a row fails, and the map by temperature shows which: the picture of the documentation.
export async function hot_row_checks({ page, origin, check, picture }) {
  const map = await api(page, '/api/v1/map');
  const busy = map.racks.find((rack) => rack.row > 1 && rack.nodes.every((n) => map.node_job[n])) ?? map.racks.at(-1);
  const reply = await api(page, '/api/v1/tools/inject', { fault: 'cooling_fault', node: map.names[busy.nodes[0]] });
  check(reply.error === undefined, `the cooling of row ${busy.row} fails`);
  await open_map(page, origin, '?colour=temp');
  const by = await wait_for('the row to be hotter than the others', 90, async () => {
    const difference = await hotter_by(page, busy.row);
    return difference >= 4 ? difference : 0;
  });
  await page.waitForTimeout(2500); // the values on the page are read every two seconds
  const unknown = Number(await page.getAttribute('[data-unknown]', 'data-unknown'));
  check(unknown < map.gpu_state.length / 2, 'temperatures are known');
  check((await page.getAttribute(kCanvas, 'data-colour')) === 'temp', `row ${busy.row} is ${by.toFixed(0)} °C hotter on the map`);
  await picture?.(page, 'map');
}

export async function map_checks(ctx) {
  await by_keys(ctx);
  await by_trail(ctx);
  await by_hand(ctx);
  await wrong_zoom(ctx);
  await filter(ctx);
  await timeline_rows(ctx);
  const { racks } = await api(ctx.page, '/api/v1/map');
  if (racks[0].row !== undefined) await hot_row_checks(ctx);
}
