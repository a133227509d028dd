// node tests/formats/firefox.cjs FIREFOX FOLDER: the pages in Firefox, over WebDriver BiDi: they filter, lead from the map to the
// findings and back, resize and save the drawing, say nothing in the console, and axe-core finds nothing to complain about.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const puppeteer = require('puppeteer-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [executablePath, out] = process.argv.slice(2);

(async () => {
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true, args: ['--no-remote'] });
  const open = async name => {
    const page = await browser.newPage();
    const said = [];
    page.on('console', message => said.push(message.text()));
    page.on('pageerror', error => said.push(String(error)));
    await page.setViewport({ width: 1400, height: 1000 });
    await page.goto(pathToFileURL(path.resolve(out, `${name}.html`)).href);
    return { page, said };
  };
  const shown = page => page.evaluate(() => [...document.querySelectorAll('[data-finding]')].filter(row => !row.hidden).length);
  const wait = () => new Promise(done => { setTimeout(done, 250); });

  for (const name of ['demo', 'broken', 'many', 'service', 'chinese']) {
    const { page, said } = await open(name);
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => (await window.axe.run()).violations
      .map(one => `${one.id}, ${one.nodes.length}: ${one.nodes[0].html.slice(0, 240)}`));
    assert.deepEqual(violations, [], name);
    assert.deepEqual(said, [], name);
    await page.close();
  }

  const { page, said } = await open('demo');
  const all = await shown(page);
  assert.ok(all > 3);
  await page.type('#search', 'subnet-privc0d1');
  await wait();
  assert.equal(await shown(page), 1);
  assert.match(page.url(), /#q=subnet-privc0d1$/);
  await page.$eval('#search', box => { box.value = ''; box.dispatchEvent(new Event('input')); });
  await wait();
  await page.click('[data-find="subnet-pubc0d1"]');
  assert.equal(await shown(page), 1);
  await page.click('#picked');
  assert.equal(await shown(page), all);
  await page.evaluate(() => document.querySelector('[data-find="subnet-pubc0d1"]').focus());
  await page.keyboard.press('Enter');
  assert.equal(await shown(page), 1);
  await page.click('#picked');
  // From a finding to its place on the map.
  await page.evaluate(() => { for (const row of document.querySelectorAll('[data-finding]')) row.open = true; });
  await wait();
  await page.evaluate(() => document.querySelector('[data-finding] .place').click());
  assert.equal(await page.evaluate(() => document.querySelectorAll('.map .found').length), 1);
  const width = () => page.$eval('.map svg', svg => svg.getBoundingClientRect().width);
  const before = await width();
  await page.evaluate(() => document.querySelector('.map-tools button').click());
  assert.ok(await width() > before);
  const svg = await page.evaluate(() => {
    const drawing = document.querySelector('.map svg');
    return standalone(drawing, drawing.viewBox.baseVal.width, drawing.viewBox.baseVal.height);
  });
  assert.ok(svg.includes('i-0d1w3') && svg.includes('stroke:rgb(') && !/var\(|<script/.test(svg));
  assert.deepEqual(said, []);

  // A click on a head sorts the table of a fleet.
  const fleet = await open('many');
  const sorted = await fleet.page.evaluate(() => {
    const button = [...document.querySelectorAll('th button')].find(one => one.textContent === 'findings');
    button.click();
    return button.closest('th').getAttribute('aria-sort');
  });
  assert.equal(sorted, 'descending');
  assert.deepEqual(fleet.said, []);
  await browser.close();
  console.log('pages: the same in Firefox');
})().catch(error => { console.error(error); process.exit(1); });
