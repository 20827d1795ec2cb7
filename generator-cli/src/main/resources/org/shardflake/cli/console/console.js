// What comes from the console is put into the page as text only, never as HTML.
'use strict';

const $ = id => document.getElementById(id);
const latest = {};
const cells = [];
const drawn = [];
let grids = [];
let serverNames = '';
let phases = new Map();
let colourBy = 'state';
let active = -1;
let chosen = -1;
let chosenPlace = '';
let heardAt = 0;
let seenAt = Date.now();
let ahead = 0;
let refusal = '';
let source = null;

function make(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const each of content) {
    if (each !== null && each !== undefined) made.append(each);
  }
  return made;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const number = value => value.toLocaleString('en');
const rate = value => value === null || value === undefined ? '–' : value === 0 ? '0' : value < 10 ? value.toFixed(1) : number(Math.round(value));
const plural = (count, what) => number(count) + ' ' + what + (count === 1 ? '' : 's');

function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit++; }
  return (unit === 0 ? bytes : bytes.toFixed(1)) + ' ' + units[unit];
}

function duration(seconds) {
  if (seconds < 60) return Math.round(seconds) + ' s';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ' + Math.round(seconds % 60) + ' s';
  if (seconds < 172800) return Math.floor(seconds / 3600) + ' h ' + Math.floor(seconds % 3600 / 60) + ' min';
  return Math.floor(seconds / 86400) + ' days';
}

const clock = iso => iso.slice(11, 19);
/** By the clock of the console: that of the browser may be another. */
const consoleNow = () => Date.now() + ahead;
const ago = iso => duration(Math.max(0, (consoleNow() - Date.parse(iso)) / 1000));
const when = iso => (iso.slice(0, 10) === new Date(consoleNow()).toISOString().slice(0, 10) ? '' : iso.slice(0, 10) + ' ') + clock(iso) + ' UTC';

/** The numbers in a set of shards such as 1-3,7. */
function expand(text) {
  const shards = [];
  for (const range of text === '' ? [] : text.split(',')) {
    const [first, last] = range.split('-').map(Number);
    for (let shard = first; shard <= (last === undefined ? first : last); shard++) shards.push(shard);
  }
  return shards;
}

function countOf(text) {
  return expand(text).length;
}

const shorten = text => text.length > 60 ? text.slice(0, text.lastIndexOf(',', 57) + 1 || 57) + '…' : text;

function command(text, what) {
  const copy = make('button', '', 'Copy');
  copy.type = 'button';
  copy.setAttribute('aria-label', 'Copy ' + text);
  copy.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = 'Copied';
    } catch (refused) {
      getSelection().selectAllChildren(copy.parentElement.querySelector('code'));
      copy.textContent = 'Selected';
    }
    setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
  };
  return make('div', 'command', what ? make('span', '', what) : null, make('code', '', text), copy);
}

/** Replaces what is in an element only if it differs, so that nobody loses a selection or the focus. */
function replace(element, key, build) {
  const text = JSON.stringify(key);
  if (element.shown !== text) {
    element.shown = text;
    element.replaceChildren(...build());
  }
}

/** One element for each, the one from before for the same key, so that nobody loses the focus when figures change. */
function keep(parent, all, keyOf, build) {
  const before = parent.kept || new Map();
  parent.kept = new Map();
  for (const each of all) {
    const key = keyOf(each);
    const element = before.get(key) || build();
    before.delete(key);
    parent.kept.set(key, element);
    element.show(each);
  }
  for (const element of before.values()) element.remove();
  [...parent.kept.values()].forEach((element, i) => {
    if (parent.children[i] !== element) parent.insertBefore(element, parent.children[i] || null);
  });
}

// Commands that are run from here, if the console may

let dialogNumber = '';
let dialogChange = 0;
let dialogOpener = null;

/** A button beside each command that the console offers to run; none if it only reads. */
function drawOffers() {
  setText($('what-changes'), 'Run shows what a command would do, and asks before it changes anything. Copy commands without Run to a terminal.');
  for (const line of document.querySelectorAll('section .command')) {
    const text = line.querySelector('code').textContent;
    const before = line.querySelector('.run');
    const isOffered = Object.hasOwn(latest.offers, text);
    if (before && !isOffered) before.remove();
    if (before || !isOffered || line.closest('#changing')) continue;
    const button = make('button', 'run', 'Run…');
    button.type = 'button';
    button.setAttribute('aria-label', 'Run ' + text);
    button.onclick = () => openDialog(text, button);
    line.append(button);
  }
}

/** Asks the console to change something, or to find out what that would be: the answer, as soon as it is there, and its status. */
async function ask(path, body) {
  try {
    const response = await fetch(path, { method: 'POST', headers: { 'Shardflake-Change': '1' }, body });
    const isFacts = response.headers.get('Content-Type') === 'application/json';
    const facts = isFacts ? await response.json() : { problem: (await response.text()).trim() };
    return facts.wait ? ask('wait', facts.wait) : { status: response.status, facts };
  } catch (failed) {
    return { status: 0, facts: { problem: 'The console does not answer: ' + failed.message } };
  }
}

async function openDialog(text, opener) {
  dialogNumber = '';
  dialogChange = 0;
  dialogOpener = opener;
  setText($('dialog-title'), 'Run a command');
  setText($('dialog-command'), text);
  setText($('dialog-note'), 'Checking what the command would do. Nothing is changed yet.');
  setText($('dialog-output'), '');
  tellDialog('');
  $('dialog-output').hidden = true;
  $('dialog-question').hidden = true;
  $('run').hidden = false;
  $('run').disabled = true;
  setText($('cancel'), 'Cancel');
  $('dialog').showModal();
  $('cancel').focus();
  const { facts } = await ask('try', latest.offers[text] || '');
  if ($('dialog').open && $('dialog-command').textContent === text) showTrial(facts);
}

function tellDialog(text) {
  setText($('dialog-state'), text);
}

/** What a command would do, with its question; or why it cannot be run. */
function showTrial(facts) {
  tellDialog(facts.problem || '');
  if (!facts.number) {
    setText($('dialog-note'), '');
    $('run').disabled = true;
    return;
  }
  dialogNumber = facts.number;
  setText($('dialog-note'), !facts.tried ? 'This command has no dry run. Run runs the command above.'
    : facts.tried + (facts.refused ? ' is refused: ' + facts.meaning : ' says:'));
  showOutput(facts.output);
  $('dialog-question').hidden = !facts.question;
  setText($('dialog-question').querySelector('label'), facts.question);
  $('answer').value = '';
  $('run').disabled = facts.refused;
  if (facts.question && !facts.refused) $('answer').focus();
}

function showOutput(text) {
  setText($('dialog-output'), text);
  $('dialog-output').hidden = !text;
}

async function agree() {
  if ($('run').disabled) return;
  $('run').disabled = true;
  tellDialog('starting');
  const { status, facts } = await ask('run', dialogNumber + '\n' + $('answer').value);
  if (status === 202) {
    dialogChange = facts.change;
    showDialogOfChange();
  } else {
    showOrRefuse(status, facts);
  }
}

/** What is refused was not done. An answer that does not agree may be given again. */
function showOrRefuse(status, facts) {
  if (facts.number) {
    showTrial(facts);
  } else {
    tellDialog(facts.problem);
    $('run').disabled = status !== 400;
  }
}

function howItEnded(change) {
  return change.state === 'runs' ? 'runs' : (change.exitCode === 0 ? 'ended: ' : 'ended with exit code ' + change.exitCode + ': ') + (change.meaning || 'its output may say why');
}

/** The output of the last change, as it comes. */
function showDialogOfChange() {
  const change = latest.change;
  setText($('dialog-title'), 'A command from this console');
  setText($('cancel'), 'Close');
  $('run').hidden = true;
  $('dialog-question').hidden = true;
  if (!change || change.change !== dialogChange) {
    tellDialog('starting');
    return;
  }
  setText($('dialog-command'), change.command);
  setText($('dialog-note'), change.state === 'runs' ? 'It continues if this dialog is closed.' : '');
  showOutput(change.output);
  tellDialog(howItEnded(change));
  if (!$('dialog').contains(document.activeElement) || $('run') === document.activeElement) $('cancel').focus();
}

function drawChange() {
  const change = latest.change;
  $('changing').hidden = false;
  setText($('changing-command'), change.command);
  setText($('changing-state'), howItEnded(change));
  if ($('dialog').open && dialogChange !== 0) {
    dialogChange = Math.max(dialogChange, change.change);
    showDialogOfChange();
  }
}

$('agree').onsubmit = event => {
  event.preventDefault();
  agree();
};
$('cancel').onclick = () => $('dialog').close();
$('dialog').onclose = () => {
  // The button that opened it may be gone with what it was for.
  if (dialogOpener && dialogOpener.isConnected) dialogOpener.focus(); else $('moving-title').focus();
};
$('show-change').onclick = () => {
  dialogNumber = '';
  dialogChange = latest.change.change;
  dialogOpener = $('show-change');
  $('dialog').showModal();
  showDialogOfChange();
  $('cancel').focus();
};

// What is unsafe

// Doctor examines each minute while someone looks.
const OLD_EXAMINATION = 300000;

/** The findings of doctor that tell what an alert does, and more: only if doctor began when the alert was the same. */
function toldBy(each, { findings, before }) {
  return before.some(other => other.server === each.server && other.found === each.found)
    ? findings.filter(other => other.server === each.server && each.tells.includes(other.check)) : [];
}

/** Alerts and findings, each fault once. A finding has the time from the alert that it replaces. */
function dangers() {
  const doctor = latest.doctor && latest.doctor.findings ? latest.doctor : { findings: [], before: [] };
  const since = new Map();
  const live = latest.unsafe.filter(each => {
    const findings = toldBy(each, doctor);
    for (const finding of findings) since.set(finding, { since: each.since, isRecorded: each.isRecorded, notBefore: each.notBefore });
    return findings.length === 0;
  });
  return [...live, ...doctor.findings.map(finding => ({ ...finding, ...since.get(finding) }))].sort((one, other) => (one.severity === 'problem' ? 0 : 1) - (other.severity === 'problem' ? 0 : 1));
}

function drawDangers() {
  if (!latest.unsafe) return;
  const all = dangers();
  const problems = all.filter(each => each.severity === 'problem').length;
  const warnings = all.length - problems;
  const doctor = latest.doctor;
  const failed = doctor && doctor.state === 'failed';
  const isExamined = doctor && doctor.findings && consoleNow() - Date.parse(doctor.at) < OLD_EXAMINATION;
  $('unsafe').className = problems > 0 ? 'endangered' : warnings > 0 || failed ? 'warned' : isExamined ? 'safe' : '';
  const parts = [];
  if (problems > 0) parts.push(plural(problems, 'problem'));
  if (warnings > 0) parts.push(plural(warnings, 'warning'));
  setText($('summary'), parts.length > 0 ? parts.join(', ') : isExamined ? 'nothing found' : 'nothing so far');
  document.title = (parts.length > 0 ? parts.join(', ') + ' · ' : '') + 'Shardflake';
  const seen = new Map();
  keep($('dangers'), all, each => {
    const key = [each.severity, each.server, each.check, each.since].join(' ');
    seen.set(key, (seen.get(key) || 0) + 1);
    return key + ' ' + seen.get(key);
  }, danger);
  drawExamined();
}

function danger() {
  const what = make('div');
  const commands = make('div');
  const element = make('li', '', what, commands);
  element.show = each => {
    element.className = each.severity;
    replace(what, each, () => [make('strong', '', each.severity), make('b', '', each.server), ' ', each.found,
      make('span', 'check', each.check + (each.since ? (each.isRecorded ? ', since ' : ', seen since ') + when(each.since) : '')
        + (each.since && each.notBefore ? ', not before ' + when(each.notBefore) : '')),
      each.remedy ? make('span', 'quiet', each.remedy) : '']);
    replace(commands, each.commands, () => each.commands.map(text => command(text)));
  };
  return element;
}

function drawExamined() {
  drawExamination(latest.doctor, 'examine', 'examined',
    { who: 'doctor ', does: 'examines every server', did: 'examined every server', failed: 'doctor failed' });
}

/** When something was last found out, and whether it is being found out now. */
function drawExamination(facts, button, line, says) {
  const isUnderWay = !facts || facts.state === 'examines';
  $(button).disabled = isUnderWay;
  const last = facts && facts.at ? says.did + ' ' + ago(facts.at) + ' ago' : '';
  setText($(line), isUnderWay ? says.who + says.does + (last ? ', and last ' + last : '')
    : facts.state === 'failed' ? says.failed + ': ' + facts.problem + (last ? '; it last ' + last : '')
    : says.who + last);
}

// Moves

function lag(stream, millis) {
  return (stream.running ? size(stream.lagBytes) + ', ' + (millis === undefined ? '–' : number(millis)) + ' ms' : 'stopped')
    + (stream.applyErrors > 0 ? ', ' + plural(stream.applyErrors, 'error') : '');
}

function bar(what) {
  const progress = make('progress');
  progress.setAttribute('aria-label', what);
  const figures = make('span');
  const element = make('div', 'bar', make('span', 'quiet', what), progress, figures);
  element.show = (done, all, text) => {
    progress.max = Math.max(all, 1);
    progress.value = done;
    setText(figures, text);
  };
  return element;
}

const BOUNDS = [5, 10, 20, 30, 50, 90];

function pauses(millis) {
  const counts = new Array(BOUNDS.length + 1).fill(0);
  for (const each of millis) {
    const bound = BOUNDS.findIndex(most => each < most);
    counts[bound < 0 ? BOUNDS.length : bound]++;
  }
  const sorted = [...millis].sort((one, other) => one - other);
  const words = 'write pauses of ' + plural(millis.length, 'cutover') + ': median ' + sorted[Math.floor((sorted.length - 1) / 2)]
    + ' ms, longest ' + sorted[sorted.length - 1] + ' ms';
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 224 62');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', words);
  const add = (name, attributes, text) => {
    const made = svg.appendChild(document.createElementNS(space, name));
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
  };
  const most = Math.max(...counts);
  counts.forEach((count, i) => {
    const height = count === 0 ? 1 : Math.max(3, 34 * count / most);
    add('rect', { x: 32 * i + 2, y: 48 - height, width: 28, height, rx: 2 });
    if (count > 0) add('text', { x: 32 * i + 16, y: 45 - height }, number(count));
    add('text', { x: 32 * i + 16, y: 60 }, i < BOUNDS.length ? '<' + BOUNDS[i] : '≥90');
  });
  return make('div', 'pauses', svg, make('span', 'quiet', words));
}

/** Hidden while it has no value. */
function fact(name) {
  const value = make('dd');
  const element = make('div', '', make('dt', '', name), value);
  element.show = text => {
    element.hidden = !text;
    setText(value, text || '');
  };
  return element;
}

function drawMove() {
  const title = make('h3');
  const failure = make('p', 'problem wide');
  const bytes = bar('copied');
  const copied = bar('shards copied');
  const switched = bar('shards switched');
  const histogram = make('div');
  const facts = Object.fromEntries(['shards', 'phase since', 'command', 'copied in about', 'lag', 'lag back', 'reason'].map(name => [name, fact(name)]));
  const commands = make('div', 'wide');
  const element = make('article', 'move', make('div', 'wide', title), failure, make('div', 'bars', bytes, copied, switched), histogram,
    make('dl', 'wide', ...Object.values(facts)), commands);
  element.show = move => {
    const problem = move.comparing ? '' : move.problem || move.forward.problem || move.reverse.problem;
    const isAbove = (latest.unsafe || []).some(alert => problem && alert.found.includes(problem));
    const wrong = isAbove ? 'Its last step failed: see Unsafe.' : problem;
    const waiting = countOf(move.phases.waiting);
    const done = countOf(move.phases.switched);
    setText(title, 'Move ' + move.move + ': ' + move.from + ' → ' + move.to + ', ' + (move.comparing ? 'comparing for the last time' : move.phase));
    setText(failure, wrong);
    failure.hidden = !wrong;
    bytes.hidden = move.bytes === undefined;
    if (!bytes.hidden) bytes.show(move.bytesCopied, move.bytes, size(move.bytesCopied) + ' of ' + size(move.bytes));
    copied.show(move.count - waiting, move.count, number(move.count - waiting) + ' of ' + number(move.count));
    switched.show(done, move.count, number(done) + ' of ' + number(move.count));
    replace(histogram, move.pauses, () => move.pauses.length > 0 ? [pauses(move.pauses)] : []);
    facts.shards.show(shorten(move.shards));
    facts['phase since'].show(when(move.phaseSince));
    facts.command.show(move.commandRuns ? 'is running' : move.commandRuns === false && move.phase !== 'following' ? 'no longer runs' : '');
    facts['copied in about'].show(move.copySecondsLeft === undefined ? ''
      : duration(move.copySecondsLeft) + ', at ' + when(new Date(consoleNow() + 1000 * move.copySecondsLeft).toISOString()));
    const isFollowing = move.phase === 'following';
    facts.lag.show(!isFollowing && move.phase !== 'catching up' ? '' : move.known ? lag(move.forward, move.forwardMillis) : 'unknown');
    facts['lag back'].show(!isFollowing ? '' : !move.known ? 'unknown' : move.comparing ? 'stopped for the last comparison' : lag(move.reverse, move.reverseMillis));
    facts.reason.show(move.reason);
    replace(commands, move.commands, () => move.commands.map(each => command(each.command, each.what)));
  };
  return element;
}

function drawMoves() {
  const moves = latest.moves;
  const shards = moves.reduce((sum, move) => sum + move.count, 0);
  const switched = moves.reduce((sum, move) => sum + countOf(move.phases.switched), 0);
  setText($('moves-about'), moves.length === 0 ? 'none in progress'
    : plural(moves.length, 'move') + ' of ' + plural(shards, 'shard') + ', ' + number(switched) + ' on their new server');
  keep($('moves'), moves, move => move.move, drawMove);
  phases = new Map();
  for (const move of moves) {
    for (const [phase, text] of Object.entries(move.phases)) {
      for (const shard of expand(text)) phases.set(shard, phase);
    }
  }
  if (latest.shards) drawShards();
}

// The map

const STATES = { o: 'open', a: 'old', c: 'closed', b: 'back', m: 'moving', x: 'missing', p: 'misplaced', u: 'unknown' };
const LEGENDS = {
  state: [['open', 'open'], ['old', 'in an old database'], ['waiting', 'to be copied'], ['copied', 'copied, follows'], ['cutting', 'cutting over'], ['switched', 'switched'],
    ['closed', 'refuses writes'], ['back', 'back in an old database'], ['missing', 'missing'], ['misplaced', 'misplaced'], ['unknown', 'server silent']],
  rate: [], size: []
};

function stateOf(shard) {
  const state = STATES[latest.shards.states[shard]];
  return state === 'moving' ? phases.get(shard) || 'moving' : state;
}

function level(value, most) {
  return !value ? 0 : 1 + Math.min(4, Math.floor(5 * Math.log1p(value) / Math.log1p(most)));
}

function classOf(shard, misplaced, most) {
  if (colourBy === 'state') return misplaced.has(shard) ? 'misplaced' : stateOf(shard).replace('cutting over', 'cutting');
  const value = (colourBy === 'rate' ? latest.shards.rates : latest.shards.bytes)[shard];
  return value === null ? 'unknown' : 'h' + level(value, most);
}

function drawLegend(most) {
  const text = value => colourBy === 'rate' ? rate(value) + '/s' : size(Math.round(value));
  const steps = colourBy === 'state' ? LEGENDS.state
    : [['h0', '0'], ...[1, 2, 3, 4, 5].map(step => ['h' + step, 'to ' + text(Math.expm1(step * Math.log1p(most) / 5))]), ['unknown', 'not known']];
  replace($('legend'), steps, () => steps.map(([className, what]) => make('li', '', make('i', className), what)));
}

function build() {
  const { servers, homes } = latest.shards;
  grids = servers.map(name => {
    const grid = make('div', 'cells');
    grid.tabIndex = 0;
    grid.setAttribute('aria-label', 'Shards of ' + name);
    return grid;
  });
  cells.length = 0;
  drawn.length = 0;
  homes.forEach((home, shard) => {
    const cell = make('i');
    cell.id = 's' + shard;
    cell.shard = shard;
    cell.home = home;
    cell.setAttribute('role', 'option');
    cell.setAttribute('aria-label', 'shard ' + shard);
    cells.push(cell);
    grids[home].append(cell);
  });
  $('servers').replaceChildren(...servers.map((name, i) => {
    const server = make('div', 'server', make('h3', '', make('b', '', name), make('span', 'hosts')), make('p', 'facts'), grids[i]);
    server.name = name;
    return server;
  }));
  serverNames = servers.join(' ');
}

/** The first cell of a server with a higher number, before which a shard goes. */
function after(grid, shard) {
  let from = 0;
  let to = grid.children.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (grid.children[middle].shard > shard) to = middle; else from = middle + 1;
  }
  return grid.children[from] || null;
}

function drawShards() {
  const { servers, homes, rates, bytes } = latest.shards;
  const isFirst = cells.length === 0;
  if (serverNames !== servers.join(' ') || cells.length !== homes.length) build();
  const misplaced = new Set(latest.now ? latest.now.servers.flatMap(server => expand(server.misplaced)) : []);
  let most = 0;
  if (colourBy !== 'state') for (const value of colourBy === 'rate' ? rates : bytes) most = Math.max(most, value || 0);
  cells.forEach((cell, shard) => {
    if (cell.home !== homes[shard]) {
      cell.home = homes[shard];
      grids[cell.home].insertBefore(cell, after(grids[cell.home], shard));
    }
    let className = classOf(shard, misplaced, most);
    if (shard === chosen) className += ' chosen';
    if (shard === active) className += ' active';
    if (drawn[shard] !== className) {
      drawn[shard] = className;
      cell.className = className;
    }
  });
  for (const grid of grids) {
    if (grid.children.length > 0) grid.setAttribute('role', 'listbox'); else grid.setAttribute('role', 'group');
    if (active < 0 || cells[active].parentElement !== grid) grid.removeAttribute('aria-activedescendant');
  }
  drawLegend(most);
  if (isFirst) requestAnimationFrame(() => performance.mark('map drawn'));
  if (chosen >= 0 && chosenPlace !== place(chosen)) find('shard_' + chosen, false);
}

const place = shard => latest.shards.homes[shard] + stateOf(shard);

function describe(shard) {
  const { servers, homes, bytes, rates } = latest.shards;
  return 'shard ' + shard + ' on ' + servers[homes[shard]] + ', ' + stateOf(shard)
    + (bytes[shard] === null ? '' : ', ' + size(bytes[shard])) + (rates[shard] === null ? '' : ', ' + rate(rates[shard]) + ' rows/s');
}

function drawServers() {
  const now = latest.now;
  setText($('about'), plural(now.shards, 'shard') + ' on ' + plural(now.servers.length, 'server') + ', version ' + number(now.version) + ' of the map'
    + (now.catalog === 'answers' ? '' : now.catalog === 'standby' ? ', catalog: only a standby answers' : ', the catalog does not answer'));
  const shown = new Map([...$('servers').children].map(server => [server.name, server]));
  for (const server of now.servers) {
    const element = shown.get(server.name);
    if (!element) continue;
    element.classList.toggle('silent', !server.answers);
    setText(element.querySelector('.hosts'), server.hosts + (server.answers ? ', PostgreSQL ' + server.version : ''));
    const odd = Object.entries(server.states).filter(([state, count]) => count > 0 && state !== 'open');
    const bad = odd.filter(([state]) => state !== 'moving' && state !== 'back');
    const shards = Object.entries(server.states).reduce((sum, [state, count]) => state === 'misplaced' ? sum : sum + count, 0);
    const facts = [plural(shards, 'shard'), ...odd.filter(([state]) => state === 'moving' || state === 'back').map(([state, count]) => number(count) + ' ' + state)];
    if (server.answers) {
      facts.push(server.bytes === null ? 'size –' : size(server.bytes));
      if (server.written !== null) facts.push(rate(server.written) + ' written/s', rate(server.read) + ' read/s');
      facts.push(number(server.connections) + '/' + number(server.maxConnections) + ' connections');
      if (server.standbys > 0) facts.push(plural(server.standbys, 'standby') + ' ' + (server.standbyLagMillis / 1000).toFixed(1) + ' s behind');
    }
    if (server.inOldDatabase > 0) facts.splice(1, 0, number(server.inOldDatabase) + ' in an old database');
    // What is wrong is told above, and here only where.
    facts.splice(1, 0, ...(server.answers ? [] : ['no answer']), ...bad.map(([state, count]) => number(count) + ' ' + state));
    setText(element.querySelector('.facts'), facts.join(' · '));
  }
}

function moveActive(grid, step) {
  const all = [...grid.children];
  if (all.length === 0) return;
  const from = all.indexOf(cells[active]);
  const cell = all[from < 0 ? 0 : Math.max(0, Math.min(all.length - 1, from + step))];
  active = cell.shard;
  cell.setAttribute('aria-label', describe(active));
  grid.setAttribute('aria-activedescendant', cell.id);
  setText($('hint'), describe(active));
  drawShards();
}

$('servers').addEventListener('keydown', event => {
  const grid = event.target.closest('.cells');
  if (!grid || grid.children.length === 0) return;
  const columns = getComputedStyle(grid).gridTemplateColumns.split(' ').length;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -1e6, End: 1e6 };
  if (event.key in steps) {
    moveActive(grid, steps[event.key]);
  } else if (event.key === 'Enter' || event.key === ' ') {
    if (active >= 0 && cells[active].parentElement === grid) find('shard_' + active, true);
  } else {
    return;
  }
  event.preventDefault();
});
$('servers').addEventListener('focusin', event => {
  const grid = event.target.closest('.cells');
  if (grid && grid.matches(':focus-visible')) moveActive(grid, 0);
});
$('servers').addEventListener('mouseover', event => {
  if (event.target.shard !== undefined) setText($('hint'), describe(event.target.shard));
});
$('servers').addEventListener('click', event => {
  if (event.target.shard !== undefined) find('shard_' + event.target.shard, false);
});
for (const radio of document.querySelectorAll('input[name=by]')) {
  radio.onchange = () => {
    colourBy = radio.value;
    if (latest.shards) drawShards();
  };
}

// Search

function neighbour(each) {
  const link = make('button', 'link', 'shard ' + each.shard);
  link.type = 'button';
  link.onclick = () => find('shard_' + each.shard, true);
  return make('div', '', each.what + ': ', link, ' on ' + each.server + (each.rate ? ', ' + rate(each.rate) + ' rows/s' : ''));
}

function reading(each) {
  const list = make('dl');
  const row = (name, value) => {
    if (value !== undefined && value !== null) list.append(make('dt', '', name), make('dd', '', value));
  };
  row('server', each.server);
  row('state', each.state + (each.inOldDatabase ? ', in an old database' : '') + (each.move === undefined ? '' : ', move ' + each.move));
  row('schema', each.schema);
  row('made', each.time);
  row('sequence', each.sequence);
  row('id', each.id);
  row('base32', each.base32);
  row('shortcode', each.shortcode);
  row('size', each.bytes === undefined ? undefined : size(each.bytes) + (each.rows === undefined ? '' : ', about ' + plural(each.rows, 'row')));
  row('rate', each.written === undefined ? undefined : rate(each.written) + ' rows/s written, ' + rate(each.read) + ' read');
  row('epoch', each.epoch);
  if (each.neighbours.length > 0) row('neighbours', make('div', '', ...each.neighbours.map(neighbour)));
  return make('article', '', make('h3', '', each.as === 'shard' ? 'Shard ' + each.shard : 'As ' + each.as + ': shard ' + each.shard),
    list, each.command ? command(each.command) : null);
}

function show(text, readings, isFocused) {
  $('found').hidden = false;
  document.querySelector('main').classList.add('finding');
  const at = $('readings');
  if (typeof readings === 'string' || readings.length === 0) {
    chosen = -1;
    at.replaceChildren(make('p', '', readings.length > 0 ? readings : 'No such shard.'));
  } else {
    chosen = readings[0].shard;
    chosenPlace = latest.shards ? place(chosen) : '';
    at.replaceChildren(...readings.map(reading));
  }
  setText($('found-title'), text);
  if (latest.shards) drawShards();
  if (isFocused) $('found-title').focus();
}

async function find(text, isFocused) {
  try {
    const response = await fetch('search?q=' + encodeURIComponent(text));
    if (!response.ok) throw new Error(await response.text());
    show(text, await response.json(), isFocused);
  } catch (failed) {
    show(text, 'The console does not answer: ' + failed.message, isFocused);
  }
}

$('search').onsubmit = event => {
  event.preventDefault();
  const text = $('what').value.trim();
  if (text) find(text, true);
};
$('close').onclick = () => {
  $('found').hidden = true;
  document.querySelector('main').classList.remove('finding');
  chosen = -1;
  if (latest.shards) drawShards();
  $('what').focus();
};
$('examine').onclick = () => fetch('examine', { method: 'POST' });
$('compare').onclick = () => fetch('compare', { method: 'POST' });

// Schemas

/** The shards that have had other changesets than most. */
function oddGroups(groups) {
  const counts = new Map();
  const key = group => group.changeSets + ' ' + group.last;
  for (const group of groups) counts.set(key(group), (counts.get(key(group)) || 0) + group.shardCount);
  const [usual] = [...counts].reduce((one, other) => other[1] > one[1] ? other : one, ['', 0]);
  return groups.filter(group => key(group) !== usual);
}

function drift(title, lines) {
  return make('li', '', make('b', '', title), ...lines.map(line => make('span', 'quiet', line)));
}

function drawSchemas() {
  const { groups, differing, described, others, command: toCopy, at } = latest.schemas;
  if (at) {
    const odd = oddGroups(groups);
    const behind = odd.reduce((sum, group) => sum + group.shardCount, 0);
    const parts = [];
    if (differing > 0) parts.push(plural(differing, 'shard') + (differing === 1 ? ' differs' : ' differ') + ' from most others');
    if (behind > 0) parts.push(plural(behind, 'shard') + ' at another changeset');
    $('schemas').className = parts.length > 0 ? 'warned' : 'safe';
    setText($('schemas-summary'), parts.length > 0 ? parts.join(', ') : 'all shards have one schema');
    replace($('drifts'), [odd, described, others], () => [
      ...odd.map(group => drift(plural(group.shardCount, 'shard') + ' of ' + group.server + ' (' + shorten(group.shards) + ') had '
        + plural(group.changeSets, 'changeset'), [group.changeSets > 0 ? 'the last: ' + group.last : group.last])),
      ...described.map(each => drift('shard ' + each.shard + ' on ' + each.server, each.differences)),
      ...(others ? [drift('and shards ' + shorten(others), [])] : [])]);
    replace($('drift-command'), toCopy, () => [command(toCopy)]);
  } else {
    setText($('schemas-summary'), latest.schemas.state === 'failed' ? 'not known' : 'comparing');
  }
  drawCompared();
}

function drawCompared() {
  drawExamination(latest.schemas, 'compare', 'compared', { who: '', does: 'compares all shards', did: 'compared', failed: 'the comparison failed' });
}

// History

function drawHistory() {
  const groups = [];
  for (const change of latest.history) {
    const last = groups[groups.length - 1];
    const key = [change.change, change.server, change.fromServer, change.user, change.reason].join('\n');
    if (last && last.key === key && change.shard !== undefined) last.shards.push(change.shard);
    else groups.push({ key, change, shards: change.shard === undefined ? [] : [change.shard] });
  }
  replace($('history'), latest.history, () => groups.map(({ change, shards }) => {
    const time = make('time', '', change.time.slice(0, 10) + ' ' + clock(change.time) + ' UTC');
    time.dateTime = change.time;
    const which = shards.length === 0 ? '' : shards.length === 1 ? ' ' + shards[0] : ': ' + plural(shards.length, 'shard');
    const where = change.fromServer ? ', ' + change.fromServer + ' → ' + change.server : change.server ? ', ' + change.server : '';
    return make('li', '', time, change.change + which + where,
      make('span', 'quiet', [change.user, change.reason].filter(text => text).join(': ')));
  }));
}

// News

const DRAW = { unsafe: drawDangers, doctor: drawDangers, moves: drawMoves, shards: drawShards, now: drawServers, schemas: drawSchemas, curves: drawCurves, history: drawHistory, offers: drawOffers, change: drawChange };
const waiting = new Set();

function heard(part, facts) {
  heardAt = Date.now();
  if (part === 'now' && (!latest.now || latest.now.at !== facts.at)) {
    seenAt = heardAt;
    ahead = Date.parse(facts.at) - heardAt;
  }
  refusal = '';
  latest[part] = facts;
  if (waiting.size === 0) requestAnimationFrame(draw);
  waiting.add(part);
}

function draw() {
  const parts = Object.keys(DRAW).filter(part => waiting.has(part));
  const focused = document.activeElement;
  const section = focused && focused.closest('section');
  waiting.clear();
  for (const part of parts) DRAW[part]();
  if (parts.includes('shards') && latest.now) drawServers();
  if (latest.offers) drawOffers();
  // What had the focus may be gone with what it was for.
  if (section && !focused.isConnected) section.querySelector('h2').focus();
  age();
}

function connect() {
  source = new EventSource('events');
  for (const part of Object.keys(DRAW)) source.addEventListener(part, event => heard(part, JSON.parse(event.data)));
  source.onerror = () => {
    // Streams end all the time, and the browser asks again. If nothing comes, it would ask less and less often.
    if (source.readyState === EventSource.CLOSED || Date.now() - heardAt > 5000) {
      disconnect();
      connectLater();
    }
  };
}

async function connectLater() {
  refusal = await fetch('room').then(async response => response.ok ? '' : response.status === 403 ? 'open the address that was printed last'
    : (await response.text()).trim(), () => '');
  age();
  setTimeout(() => {
    if (source === null && !document.hidden) connect();
  }, 2000);
}

function disconnect() {
  if (source !== null) source.close();
  source = null;
}

/** Read aloud when the state changes, not each second. */
function tell(state, figures, isStale) {
  setText($('live'), state);
  setText($('clock'), figures);
  $('connection').classList.toggle('stale', isStale);
  document.body.classList.toggle('stale', isStale);
}

function age() {
  const seconds = (Date.now() - seenAt) / 1000;
  if (refusal) tell(refusal, '', true);
  else if (seconds > 10) tell('no news', ' for ' + duration(seconds), true);
  else if (latest.now) tell('live', ', ' + clock(latest.now.at) + ' UTC', false);
}

document.addEventListener('visibilitychange', () => {
  // Servers are asked only for pages that are looked at.
  if (document.hidden) disconnect(); else if (source === null) connect();
});
setInterval(() => {
  age();
  drawExamined();
  drawCompared();
}, 1000);
if (location.search) window.history.replaceState(null, '', location.pathname);
connect();
