// Opens the pages in a browser: they are drawn, the filters work, nothing is asked of the network or said in the console, and
// what others wrote does nothing. axe-core finds nothing to complain about.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

// Consoles that a page may link to, besides the sources of its rules.
const LINKED = /^https:\/\/[a-z0-9.-]+\//;
const CONSOLES = /\.console\.(aws\.amazon\.com|amazonaws\.cn|aliyun\.com)\/|^https:\/\/console\.amazonaws-us-gov\.com\//;

const [executablePath, out, screenshots] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  const open = async (name, options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, ...options });
    const page = await context.newPage();
    const said = [];
    page.on('console', message => said.push(message.text()));
    page.on('pageerror', error => said.push(String(error)));
    page.on('dialog', dialog => { said.push(dialog.message()); dialog.dismiss(); });
    page.on('request', request => { if (!request.url().startsWith('file://')) said.push(request.url()); });
    const url = pathToFileURL(path.resolve(out, `${name}.html`)).href;
    const started = Date.now();
    await page.goto(url);
    return { page, said, url, opened: Date.now() - started, context };
  };
  const sources = new Set(JSON.parse(fs.readFileSync(path.join(out, 'rules.json'), 'utf8')).rules
    .flatMap(rule => rule.sources).map(source => {
      if (source.startsWith('https://')) return source;
      const [repository, file] = source.split(' ');
      return `https://github.com/${repository}/blob/HEAD/${(file ?? '').split('#')[0]}`;
    }));
  const shown = page => page.evaluate(() => [...document.querySelectorAll('[data-finding]')].filter(row => !row.hidden).length);
  const search = async (page, text) => {
    await page.fill('#search', text);
    await page.waitForTimeout(250);
  };

  for (const name of ['demo', 'broken', 'clean', 'unread', 'hostile', 'large', 'many', 'many-hostile']) {
    const saved = JSON.parse(fs.readFileSync(path.join(out, `${name}.json`)));
    const isSet = Array.isArray(saved.targets);
    // A set has the findings of all, and a row for each cluster instead of a map.
    const report = isSet
      ? { findings: saved.targets.flatMap(target => target.reports.flatMap(report => report.findings)), topology: [] }
      : saved;
    for (const colorScheme of ['light', 'dark']) {
      const { page, said, url, context } = await open(name, { colorScheme });
      assert.equal(await page.locator('[data-finding]').count(), report.findings.length, name);
      assert.equal(await page.locator('.map svg').count(), report.topology.length, name);
      // Every line of the map leads somewhere, and every text stays within its drawing.
      for (const svg of await page.locator('.map svg').all()) {
        const width = Number(await svg.getAttribute('width'));
        const beyond = await svg.evaluate((svg, width) => [...svg.querySelectorAll('text')]
          .filter(text => text.getBBox().x + text.getBBox().width > width).map(text => text.textContent), width);
        assert.deepEqual(beyond, [], name);
      }
      assert.equal(await page.evaluate(() => window.hostile), undefined, name);
      assert.equal(await page.locator('img, iframe, object, embed, link, base, form').count(), 0, name);
      assert.equal(await page.locator('script').count(), 1, name);
      // Links are those of the tool: to a finding of this page, to the sources of a rule, to a console.
      const links = await page.locator('a[href]').evaluateAll(all => all.map(one => [one.getAttribute('href'), one.rel]));
      for (const [href, rel] of links) {
        if (/^#[fg]-/.test(href)) continue;
        assert.equal(rel, 'noopener noreferrer', `${name}: ${href}`);
        assert.ok(sources.has(href) || CONSOLES.test(href) && LINKED.test(href), `${name}: ${href}`);
      }
      const handlers = await page.evaluate(() => [...document.querySelectorAll('*')]
        .flatMap(one => one.getAttributeNames()).filter(attribute => attribute.startsWith('on')));
      assert.deepEqual(handlers, [], name);
      assert.deepEqual(said, [], `${name}: the console is silent`);
      assert.equal(page.url(), url, name);
      if (isSet) {
        const rows = saved.targets.reduce((all, target) => all + target.reports.length, 0);
        const folded = await page.locator('summary:has-text("without findings")').evaluateAll(all => all
          .map(one => /^(\d+) clusters?/.exec(one.textContent)).reduce((sum, found) => sum + Number(found?.[1] ?? 0), 0));
        assert.equal(await page.locator('h2:text-is("Clusters") + .matrix tbody tr').count() + folded, rows, name);
      }
      if (['demo', 'many'].includes(name) && screenshots) {
        const called = name === 'demo' ? 'report' : name;
        await page.screenshot({ path: path.join(screenshots, `${called}-${colorScheme}.png`), clip: { x: 0, y: 0, width: 1400, height: 1000 } });
      }
      await context.close();
    }
  }

  // Nothing that a screen reader or a keyboard stumbles over, in either theme.
  for (const name of ['demo', 'broken', 'many', 'service', 'chinese']) {
    for (const colorScheme of ['light', 'dark']) {
      const { page, context } = await open(name, { colorScheme, bypassCSP: true });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      const found = violations.map(one => `${one.id}, ${one.nodes.length}: ${one.nodes[0].html.slice(0, 240)}`);
      assert.equal(found.join('\n'), '', `${name}, ${colorScheme}`);
      await context.close();
    }
  }

  const { page, said } = await open('demo');
  assert.equal(await shown(page), 7);
  await search(page, 'i-0d1w3');
  assert.equal(await shown(page), 3, 'a node without a tag, with two groups and a role');
  await search(page, 'subnet-privc0d1');
  assert.equal(await shown(page), 1);
  await search(page, 'no such thing');
  assert.equal(await shown(page), 0);
  assert.match(await page.textContent('#shown'), /^0 of 7 shown$/);
  await search(page, '');
  await page.uncheck('input[value=warning]');
  assert.equal(await shown(page), 3);
  await page.uncheck('input[value=confirm]');
  assert.equal(await shown(page), 1);
  await page.check('input[value=warning]');
  await page.check('input[value=confirm]');
  // From the map to the findings.
  await page.locator('[data-find="subnet-pubc0d1"]').click();
  assert.match(await page.textContent('#picked'), /^subnet-pubc0d1 /);
  assert.equal(await shown(page), 1);
  await page.click('#picked');
  assert.equal(await shown(page), 7);
  // By keyboard as well.
  await page.locator('[data-find="subnet-pubc0d1"]').press(' ');
  assert.equal(await shown(page), 1);
  // The filters stand in the address, and a link to it shows the same.
  const filtered = page.url();
  assert.match(filtered, /#ids=subnet-pubc0d1$/);
  await page.click('#picked');
  assert.equal(await shown(page), 7);
  await page.goto(filtered);
  assert.equal(await shown(page), 1);
  await page.click('#picked');
  // Each finding has an address, and leads to its place on the map.
  const key = await page.locator('[data-finding]').nth(2).getAttribute('data-finding');
  await page.evaluate(key => { location.hash = `f-${key}`; }, key);
  await page.waitForTimeout(100);
  const linked = page.locator(`[data-finding="${key}"]`);
  assert.ok(await linked.evaluate(row => row.open && row.classList.contains('linked')));
  assert.ok(await linked.locator('.place').count() <= 1);
  await page.locator('[data-find="i-0d1w3"]').first().evaluate(() => {
    for (const row of document.querySelectorAll('[data-finding]')) row.open = true;
  });
  await page.waitForTimeout(100);
  await page.locator('[data-finding] .place').first().click();
  assert.equal(await page.locator('.map .found').count(), 1);
  // A page that was fetched without TLS has no clipboard.
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }));
  await page.locator('pre button').first().click();
  assert.match(await page.locator('pre button').first().textContent(), /^(copied|select the text to copy it)$/);
  // A node shows its own lines.
  await page.locator('[data-find="i-0d1w3"]').hover();
  assert.equal(await page.locator('.edge.on').count(), 2);
  assert.deepEqual(said, []);

  // The drawing grows and shrinks, fits, and is saved as a file that needs no style sheet and runs nothing.
  const drawing = await open('demo');
  const size = () => drawing.page.locator('.map svg').first().evaluate(svg => svg.getBoundingClientRect().width);
  const first = await size();
  await drawing.page.locator('.map-tools button').nth(0).click();
  assert.ok(await size() > first);
  await drawing.page.locator('.map-tools button').nth(1).click();
  await drawing.page.locator('.map-tools button').nth(1).click();
  assert.ok(await size() < first);
  await drawing.page.locator('.map-tools button').nth(2).click();
  const inner = await drawing.page.locator('.map').first().evaluate(map => map.clientWidth);
  assert.ok(Math.abs(await size() - inner) < 2, 'fits');
  // Colours by role and by finding.
  const colour = find => drawing.page.locator(`.map [data-find="${find}"] > .box`).evaluate(box => getComputedStyle(box).stroke);
  const byTag = await colour('i-0d1w3');
  await drawing.page.selectOption('.map-show select', 'findings');
  assert.equal(await drawing.page.locator('.legend').isVisible(), false);
  assert.notEqual(await colour('i-0d1w3'), byTag);
  assert.equal(await colour('i-0d1w3'), await colour('i-0d1w0'), 'both have an error');
  assert.notEqual(await colour('i-0d1w3'), await colour('i-0d1c0'), 'which has a warning');
  await drawing.page.selectOption('.map-show select', 'roles');
  assert.notEqual(await colour('i-0d1w0'), await colour('i-0d1c0'));
  await drawing.page.selectOption('.map-show select', '');
  assert.equal(await colour('i-0d1w3'), byTag);
  const waiting = drawing.page.waitForEvent('download');
  await drawing.page.locator('.map-tools button').nth(3).click();
  const file = path.resolve(out, 'drawing.svg');
  const download = await waiting;
  assert.equal(download.suggestedFilename(), 'vpc-0d1.svg');
  await download.saveAs(file);
  const svg = fs.readFileSync(file, 'utf8');
  assert.ok(!/<script|var\(|data-find|\son\w+=/.test(svg) && svg.includes('i-0d1w3') && svg.includes('stroke:rgb('), svg.slice(0, 400));
  await drawing.page.goto(pathToFileURL(file).href);
  assert.equal(await drawing.page.locator('parsererror').count(), 0);
  assert.deepEqual(drawing.said, []);

  // The number in a circle is that of the findings which a click on its box shows; on a box of several nodes, that of the
  // nodes with findings.
  for (const name of ['demo', 'broken']) {
    const { page } = await open(name);
    const { topology } = JSON.parse(fs.readFileSync(path.join(out, `${name}.json`), 'utf8'));
    const groups = new Map(topology.flatMap(vpc => vpc.nodes).map(group => [group.instances.join(' '), group]));
    let nodes = 0;
    for (const box of await page.locator('.map [data-find]:has(> .mark)').all()) {
      const title = await box.locator('> .mark title').textContent();
      const find = await box.getAttribute('data-find');
      await box.dispatchEvent('click');
      const rows = await shown(page);
      const group = groups.get(find);
      if (!group) {
        assert.equal(`${rows}`, title.split(' ')[0], `${name}: ${find}`);
        continue;
      }
      nodes += 1;
      const wrong = Object.values(group.findings).reduce((sum, number) => sum + number, 0);
      assert.ok(wrong > 0 && wrong <= group.count && rows > 0, `${name}: ${find}`);
      assert.ok(title.startsWith(`${wrong} of ${group.count} node`), `${name}: ${find}: ${title}`);
    }
    assert.ok(nodes > 0, name);
  }

  // What a terminal shows.
  for (const name of screenshots ? ['demo', 'many'] : []) {
    const Convert = require('ansi-to-html');
    const text = new Convert({ escapeXML: true, fg: '#d7dade', bg: '#16181d', colors: { 1: '#f2707a', 3: '#e0b050', 6: '#56b6c2' } })
      .toHtml(fs.readFileSync(path.join(out, `${name}.ansi`), 'utf8').split('\n').slice(0, 44).join('\n'));
    const context = await browser.newContext({ viewport: { width: 1060, height: 900 } });
    const page = await context.newPage();
    await page.setContent(`<body style="margin:0;background:#16181d"><pre style="margin:0;padding:18px;color:#d7dade;font:14px/1.32 'DejaVu Sans Mono',monospace">${text}</pre>`);
    await page.locator('pre').screenshot({ path: path.join(screenshots, `terminal-${name}.png`) });
    await context.close();
  }

  // The name of a cluster filters the findings of all.
  const many = await open('many');
  await search(many.page, 'charlie');
  const ofOne = await many.page.evaluate(() => [...document.querySelectorAll('[data-finding]')].filter(row => !row.hidden)
    .every(row => row.textContent.includes('charlie')));
  assert.ok(ofOne && await shown(many.page) > 0);
  // A rule leads to its findings, the name of a cluster filters them too, and a click on a head sorts.
  const fleet = await open('many');
  const table = fleet.page.locator('h2:text-is("Rules by cluster") + .matrix');
  const rule = table.locator('tbody a').first();
  const group = fleet.page.locator(`[data-group="${await rule.textContent()}"]`);
  await rule.click();
  await fleet.page.waitForTimeout(100);
  assert.ok(await group.evaluate(group => group.open && group.classList.contains('linked')));
  const cluster = table.locator('[data-find]').first();
  await cluster.press('Enter');
  assert.match(await fleet.page.textContent('#picked'), new RegExp(`^${await cluster.textContent()} `));
  assert.ok(await shown(fleet.page) > 0);
  const column = () => table.locator('tbody tr td:nth-child(4)').evaluateAll(all => all.map(one => Number(one.textContent)));
  const before = await column();
  await table.locator('th button:text-is("findings")').click();
  assert.deepEqual(await column(), [...before].sort((a, b) => b - a));
  await table.locator('th button:text-is("findings")').click();
  assert.deepEqual(await column(), [...before].sort((a, b) => a - b));
  assert.equal(await table.locator('th[aria-sort=ascending]').count(), 1);
  assert.deepEqual(fleet.said, []);

  const large = await open('large');
  assert.equal(await shown(large.page), 30000);
  const took = await large.page.evaluate(() => {
    const started = performance.now();
    document.getElementById('search').value = 'i-00000000000000abc';
    filter();
    document.body.offsetHeight;
    return performance.now() - started;
  });
  assert.equal(await shown(large.page), 1);
  console.log(`pages: 30,000 findings opened in ${large.opened} ms, filtered in ${Math.round(took)} ms`);

  // The words of the page and of its script are those of its language.
  const chinese = await open('chinese');
  assert.equal(await chinese.page.evaluate(() => document.documentElement.lang), 'zh-CN');
  assert.match(await chinese.page.textContent('#shown'), /^显示 \d+ 个$/);
  await search(chinese.page, 'no such thing');
  assert.match(await chinese.page.textContent('#shown'), /^显示 0 个，共 \d+ 个$/);
  assert.deepEqual(chinese.said, []);

  // Without scripts everything is there but the filters.
  const still = await open('demo', { javaScriptEnabled: false });
  assert.equal(await still.page.locator('.tools').isVisible(), false);
  assert.equal(await still.page.locator('[data-finding]').count(), 7);
  await browser.close();
})().catch(error => { console.error(error); process.exit(1); });
