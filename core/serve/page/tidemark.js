/*
 * The dashboard of `tidemark serve`. One script, without a library.
 *
 * It asks every 3 seconds. Server-sent events would hold one connection open
 * for each viewer, and the server allows few. Proxies buffer such streams or cut
 * them. Polling needs one code path, which also finds a server that is back.
 *
 * Everything that the server says is text, and becomes text nodes and
 * attributes. No markup is ever made of it, for names, keys and errors may be
 * hostile.
 */
'use strict';
(() => {
const POLL_MS = 3000, MOST_POLL_MS = 30000, TIMEOUT_MS = 10000;
const ORDER_MS = 120000; /* a replay is answered when it has ended */
const SERIES_MS = 30000, SAY_MS = 6000, FIRST_ROWS = 100, MORE_ROWS = 150;
const RUNS = 20, LETTERS = 100;
const STATES = ['failing', 'late', 'waiting', 'paused', 'never_run', 'ok'];
const TOKEN = 'tidemark.token';
const WAITS = {
	pace: 'to spare the source', retry: 'to try again',
	breaker: 'because too many runs failed in a row',
	transaction: 'for a transaction of the source',
};

/* ---- Words, numbers, times ---- */

const $ = id => document.getElementById(id);
const list = x => Array.isArray(x) ? x : [];
const number = x => typeof x === 'number' && isFinite(x);
const words = state => String(state ?? 'not known').replace(/_/g, ' ');
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const count = x => number(x) ? grouped.format(x) : '–';
const plural = (n, one) => `${count(n)} ${one}${n === 1 ? '' : 's'}`;

/* Control characters, and those that turn the direction of a text, are shown as
 * their numbers: a name must not look like another. */
function plain(x) {
	if (x === null || x === undefined)
		return '';
	const text = typeof x === 'object' ? JSON.stringify(x) : String(x);
	return text.replace(
		/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
		c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function span(seconds) {
	if (!number(seconds))
		return '–';
	const s = Math.abs(seconds);
	if (s < 1)
		return s === 0 ? '0 s' : `${Math.max(1, Math.round(s * 1000))} ms`;
	if (s < 60)
		return `${s < 10 ? Math.round(s * 10) / 10 : Math.round(s)} s`;
	const m = s < 600 ? Math.floor(s / 60) : Math.round(s / 60);
	const h = Math.floor(m / 60);
	if (h < 1)
		return `${m} min` + (m < 10 && s % 60 >= 1 ?
			` ${Math.floor(s % 60)} s` : '');
	if (h < 24)
		return `${h} h` + (m % 60 ? ` ${m % 60} min` : '');
	return `${Math.floor(h / 24)} d` + (h % 24 ? ` ${h % 24} h` : '');
}

const time = text => text ? Date.parse(text) : NaN;
function clock(ms) {
	return isNaN(ms) ? '–' : new Date(ms).toISOString().slice(11, 19);
}
function stamp(text) {
	const ms = time(text);
	return isNaN(ms) ? '–' :
		new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
/* The server's clock counts, for the viewer's may be wrong. */
let clockAhead = 0;
const now = () => Date.now() + clockAhead;
function ago(text) {
	const ms = time(text);
	if (isNaN(ms))
		return '–';
	const s = Math.floor((now() - ms) / 1000);
	return s < 0 ? `in ${span(-s)}` : s < 1 ? 'now' : `${span(s)} ago`;
}
const when = text => text ? `${stamp(text)} (${ago(text)})` : '–';
function problem(error) {
	if (!error)
		return '';
	if (typeof error === 'string')
		return plain(error);
	const code = plain(error.code), said = plain(error.message);
	return code && said ? `${code}: ${said}` : code || said;
}

/* ---- Elements ---- */

/* Properties that begin with "on" are listeners. The others are attributes. */
function el(name, attributes, ...children) {
	const svg = /^(svg|path|line|text|rect|use|g)$/.test(name);
	const e = svg ?
		document.createElementNS('http://www.w3.org/2000/svg', name) :
		document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key.startsWith('on'))
			e.addEventListener(key.slice(2), value);
		else if (value !== false && value !== null && value !== undefined)
			e.setAttribute(key, value === true ? '' : String(value));
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}
const icon = state => el('svg', { class: 'icon', 'aria-hidden': 'true' },
	el('use', { href: `#i-${STATES.includes(state) ? state : 'never_run'}` }));
function badge(state) {
	const known = STATES.includes(state) ? state : 'never_run';
	return el('span', { class: `state ${known}` }, icon(state),
		plain(words(state)));
}
const name = text => el('bdi', {}, plain(text));
function button(label, press, more) {
	return el('button', { type: 'button', onclick: press, ...more }, label);
}
function setText(e, text) {
	if (e.textContent !== text)
		e.textContent = text;
}
/* Draw a part again only if its facts have changed: focus and selection stay. */
function redraw(host, facts, draw) {
	const sign = JSON.stringify(facts) ?? '';
	if (host.sign === sign)
		return;
	host.sign = sign;
	host.replaceChildren(...[draw()].flat().filter(Boolean));
}
function say(text, bad) {
	const box = el('div', { class: bad ? 'say bad' : 'say' }, text);
	box.append(button('Close', () => box.remove()));
	const place = $(bad ? 'errors' : 'says');
	while (place.children.length > 2)
		place.firstChild.remove();
	place.append(box);
	if (!bad)
		setTimeout(() => box.remove(), SAY_MS);
}

/* ---- Tables that sort and filter, and change only what changed ---- */

/*
 * A column: id, label, text(row), and where needed value(row) to sort by,
 * draw(row) for nodes, sign(row) for what they depend on. `descending`: its
 * first click shows the largest first.
 */
class Table {
	constructor(options) {
		Object.assign(this, { empty: 'Nothing here.', search: () => '' },
			options);
		this.rows = [];
		this.shown = new Map();
		this.words = '';
		this.head = el('tr', { role: 'row' });
		this.heads = new Map(this.columns.map(c => [c.id, this.makeHead(c)]));
		this.body = el('tbody', { role: 'rowgroup' });
		this.table = el('table', { role: 'table', class: `t-${this.id}`,
			'aria-label': this.label },
			el('thead', { role: 'rowgroup' }, this.head), this.body);
		this.none = el('p', { class: 'nothing soft' });
		this.element = el('div', {}, this.table, this.none);
		this.markSort();
	}
	makeHead(c) {
		const th = el('th', { role: 'columnheader', scope: 'col',
			class: this.classes(c) }, c.unsorted ? c.label :
			button(c.label, () => this.sortBy(c.id)));
		this.head.append(th);
		return th;
	}
	classes(c) {
		return `c-${c.id}${c.num ? ' num' : ''}${c.wide ? ' wide' : ''}`;
	}
	sortBy(id, down) {
		const c = this.columns.find(one => one.id === id);
		this.down = down ?? (this.sort === id ? !this.down :
			Boolean(c.descending));
		this.sort = id;
		this.markSort();
		this.update(this.rows);
		this.onsort?.();
	}
	markSort() {
		for (const [id, th] of this.heads)
			if (id === this.sort)
				th.setAttribute('aria-sort', this.down ?
					'descending' : 'ascending');
			else
				th.removeAttribute('aria-sort');
	}
	find(text) {
		this.words = text.trim().toLowerCase();
		this.update(this.rows);
	}
	chosen() {
		const parts = this.words.split(/\s+/).filter(Boolean);
		const rows = this.rows.filter(r => !this.keep || this.keep(r));
		if (!parts.length)
			return rows;
		return rows.filter(r => {
			const text = this.search(r).toLowerCase();
			return parts.every(part => text.includes(part));
		});
	}
	/* A row without a value comes last, whichever way the others go. */
	compare(column) {
		const value = column.value || column.text;
		const way = this.down ? -1 : 1;
		return (a, b) => {
			const x = value(a), y = value(b);
			const noX = x === null || Number.isNaN(x);
			const noY = y === null || Number.isNaN(y);
			if (noX || noY)
				return noX - noY || this.tie(a, b);
			return (x < y ? -way : x > y ? way : 0) || this.tie(a, b);
		};
	}
	tie(a, b) {
		const x = String(this.key(a)), y = String(this.key(b));
		return this.ties ? this.ties(a, b) : x < y ? -1 : x > y ? 1 : 0;
	}
	update(rows) {
		this.rows = rows;
		const column = this.columns.find(c => c.id === this.sort);
		const all = this.chosen();
		if (column)
			all.sort(this.compare(column));
		this.count = all.length;
		this.table.hidden = !all.length;
		this.none.hidden = Boolean(all.length);
		setText(this.none, rows.length ? 'Nothing here matches the filter.' :
			this.empty);
		clearTimeout(this.later);
		this.place(all, this.body.children.length ? all.length : FIRST_ROWS);
	}
	/* The first rows are seen at once. The others follow in steps, in between
	 * the browser paints and hears the keyboard. */
	place(all, most) {
		const kept = new Set(), focus = document.activeElement;
		let at = this.body.firstChild;
		for (const row of all.slice(0, most)) {
			const id = this.key(row);
			const shown = this.shown.get(id) || this.makeRow(id);
			kept.add(id);
			this.fill(shown, row);
			if (shown.tr === at)
				at = at.nextSibling;
			else
				this.body.insertBefore(shown.tr, at);
		}
		for (const [id, shown] of this.shown)
			if (!kept.has(id)) {
				shown.tr.remove();
				this.shown.delete(id);
			}
		/* An element that was moved has lost the focus. */
		if (focus !== document.activeElement && this.body.contains(focus))
			focus.focus({ preventScroll: true });
		if (most < all.length)
			this.later = setTimeout(
				() => this.place(all, most + MORE_ROWS), 0);
	}
	makeRow(id) {
		const shown = { tr: el('tr', { role: 'row' }), cells: [] };
		for (const c of this.columns) {
			const td = el('td', { role: 'cell', class: this.classes(c),
				'data-label': c.label });
			shown.cells.push({ td, sign: null });
			shown.tr.append(td);
		}
		shown.tr.addEventListener('click', e => {
			if (this.open && !e.target.closest('a, button') &&
			    !String(getSelection()))
				this.open(shown.row);
		});
		this.shown.set(id, shown);
		return shown;
	}
	fill(shown, row) {
		shown.row = row;
		shown.tr.classList.toggle('chosen',
			Boolean(this.isChosen?.(row)));
		this.columns.forEach((c, i) => {
			const cell = shown.cells[i];
			const sign = (c.sign || c.text)(row);
			if (cell.sign === sign)
				return;
			cell.sign = sign;
			cell.td.replaceChildren(...(c.draw ? [c.draw(row)].flat() :
				[sign]));
		});
	}
}
function filterBox(table, label) {
	const input = el('input', { type: 'search', 'aria-label': label,
		placeholder: label, autocomplete: 'off', spellcheck: 'false',
		oninput: () => table.find(input.value) });
	return input;
}

/* ---- The server ---- */

class Refusal extends Error {
	constructor(status, error) {
		super(problem(error) || `the server answered ${status}`);
		this.status = status;
	}
}
function kept(value) {
	try {
		if (value === undefined)
			return sessionStorage.getItem(TOKEN);
		if (value === null)
			sessionStorage.removeItem(TOKEN);
		else
			sessionStorage.setItem(TOKEN, value);
	} catch {
		/* A browser may forbid it. Then the token lives as long as the page. */
	}
	kept.here = value === undefined ? kept.here : value;
	return kept.here ?? null;
}
async function ask(path, method = 'GET', body) {
	const headers = { Accept: 'application/json' }, token = kept();
	if (token)
		headers.Authorization = `Bearer ${token}`;
	if (body)
		headers['Content-Type'] = 'application/json';
	const answer = await fetch(`api/v1/${path}`, {
		method, headers, body: body && JSON.stringify(body),
		cache: 'no-store', credentials: 'omit',
		signal: AbortSignal.timeout(method === 'POST' ? ORDER_MS : TIMEOUT_MS),
	});
	let json = null;
	try {
		json = JSON.parse(await answer.text());
	} catch (e) {
		if (e.name !== 'SyntaxError')
			throw e;
	}
	if (!answer.ok || json?.error && method === 'POST')
		throw new Refusal(answer.status, json?.error);
	if (!json || typeof json !== 'object' || Array.isArray(json))
		throw new Refusal(answer.status,
			'the server\'s answer is no JSON object');
	return json;
}
const part = text => encodeURIComponent(text.toWellFormed?.() ?? text);
const about = (what, pipeline, more = '') =>
	ask(`${what}?pipeline=${part(pipeline)}${more}`);
function inWords(error) {
	if (error.name === 'TimeoutError')
		return 'no answer came in time';
	return error instanceof Refusal ? error.message :
		'it cannot be reached';
}

/* ---- Dialog and token ---- */

/* Resolves to the field's text ('' without a field), or null if cancelled. */
function dialog({ title, text, field, type, yes, danger, error }) {
	const box = $('dialog'), input = $('dialog-field');
	setText($('dialog-title'), title);
	setText($('dialog-text'), text);
	setText($('dialog-error'), error || '');
	$('dialog-error').hidden = !error;
	setText($('dialog-label'), field || '');
	$('dialog-label').hidden = input.hidden = !field;
	input.type = type || 'text';
	input.value = '';
	setText($('dialog-yes'), yes);
	$('dialog-yes').className = danger ? 'danger' : 'main';
	const before = document.activeElement;
	return new Promise(resolve => {
		let answer = null;
		$('dialog-form').onsubmit = e => {
			e.preventDefault();
			answer = field ? input.value : '';
			box.close();
		};
		$('dialog-no').onclick = () => box.close();
		box.onclose = () => {
			input.value = '';
			before?.focus?.();
			resolve(answer);
		};
		box.showModal();
		(field ? input : danger ? $('dialog-no') : $('dialog-yes')).focus();
	});
}
async function giveToken(error) {
	const text = await dialog({ title: 'Token', error, yes: 'Use this token',
		text: 'The server wants the token that its config has as ' +
		'serve.token. This page keeps it until you close the tab.',
		field: 'Token', type: 'password' });
	if (text?.trim())
		kept(text.trim());
	showToken();
	return Boolean(text?.trim());
}
function showToken() {
	setText($('token'), kept() ? 'Forget the token' : 'Give a token');
}
/* The server refused the token, or misses it: ask for one. */
function askToken(e) {
	const error = kept() ? `The server refuses this token: ${inWords(e)}` : '';
	kept(null);
	return giveToken(error);
}
/* Ask, with tokens until one is right. undefined: nobody gave one. */
async function withToken(path, method, body) {
	for (;;) {
		try {
			return await ask(path, method, body);
		} catch (e) {
			if (e.status !== 401)
				throw e;
			if (!await askToken(e))
				return undefined;
		}
	}
}
/* An order, told in words how it ended. */
async function order(pressed, path, body, done, failed) {
	if (pressed.getAttribute('aria-busy') === 'true')
		return;
	pressed.setAttribute('aria-busy', 'true');
	try {
		if (await withToken(path, 'POST', body ?? {}) !== undefined) {
			say(done);
			await asking; /* it may have begun before the order */
			await poll();
		}
	} catch (e) {
		say(`${failed}: ${inWords(e)}`, true);
	} finally {
		pressed.removeAttribute('aria-busy');
	}
}

/* ---- The list of pipelines ---- */

let data = { pipelines: [] }, only = null, opened = null;

/* Somebody's order pauses it until it is resumed. A hold of its pace, such as a
 * pause file, ends by itself. */
const ordered = p => p.paused_by?.reason === 'pause';
function waitText(w) {
	const why = Object.hasOwn(WAITS, w.reason) ? WAITS[w.reason] :
		`for ${plain(words(w.reason || 'something'))}`;
	return `waits ${why}${w.whom ? `: ${plain(w.whom)}` : ''}`;
}
function pauseText(p) {
	const whom = plain(p.paused_by.whom || 'somebody');
	if (!ordered(p))
		return `paused by its pace: ${whom}`;
	const reason = plain(p.paused_reason || p.paused?.reason);
	return `paused by ${whom}${reason ? `: ${reason}` : ''}`;
}
function progressText(p) {
	if (!p || !number(p.share))
		return '';
	return `${Math.floor(p.share * 100)} % done` +
		(number(p.eta_seconds) ? `, ${span(p.eta_seconds)} left` : '');
}
function why(p) {
	const parts = [];
	if (p.paused_by)
		parts.push(pauseText(p));
	if (p.last_error && p.state !== 'ok')
		parts.push(problem(p.last_error));
	if (p.waiting)
		parts.push(waitText(p.waiting));
	if (p.state === 'late')
		parts.push('no run has caught up ' + (p.late_after_seconds > 0 ?
			`for more than ${span(p.late_after_seconds)}` : 'in time'));
	if (progressText(p.progress))
		parts.push(progressText(p.progress));
	if (p.dead_letters > 0)
		parts.push(plural(p.dead_letters, 'dead letter'));
	if (!parts.length && p.lease)
		parts.push(`runs on ${plain(p.lease.host)}`);
	return parts.join(' · ');
}
function lagText(p) {
	return number(p.lag_seconds) ? span(p.lag_seconds) :
		plain(p.lag_reason || 'not known');
}
function rank(p) {
	const at = STATES.indexOf(p.state);
	return at < 0 ? STATES.indexOf('waiting') - 0.5 : at;
}
const since = p => time(p.since);

const pipelines = new Table({
	id: 'pipelines', label: 'Pipelines', sort: 'state',
	key: p => p.pipeline,
	ties: (a, b) => (since(a) || Infinity) - (since(b) || Infinity) ||
		(a.pipeline < b.pipeline ? -1 : 1),
	search: p => [p.pipeline, words(p.state), why(p), p.schedule, p.source,
		p.destination].map(plain).join(' '),
	keep: p => !only || p.state === only,
	open: p => go(p.pipeline),
	isChosen: p => p.pipeline === opened,
	empty: 'The config has no pipeline.',
	columns: [
		{ id: 'state', label: 'State', value: rank, text: p => p.state,
		  draw: p => badge(p.state) },
		{ id: 'pipeline', label: 'Pipeline', text: p => p.pipeline,
		  draw: p => el('a', { href: `#/${part(p.pipeline)}` },
			name(p.pipeline)) },
		{ id: 'why', label: 'Why', text: why,
		  draw: p => el('span', { class: 'why', title: why(p) }, why(p)) },
		{ id: 'since', label: 'Since', num: true, value: since,
		  text: p => p.since ? ago(p.since).replace(' ago', '') : '–' },
		{ id: 'lag', label: 'Lag', num: true, descending: true,
		  value: p => number(p.lag_seconds) ? p.lag_seconds : null,
		  text: lagText },
		{ id: 'success', label: 'Last success', num: true, wide: true,
		  value: p => time(p.last_success),
		  text: p => ago(p.last_success) },
		{ id: 'letters', label: 'Dead letters', num: true, wide: true,
		  descending: true,
		  value: p => p.dead_letters ?? null,
		  text: p => count(p.dead_letters) },
		{ id: 'next', label: 'Next run', num: true, wide: true,
		  value: p => time(p.next_due),
		  text: p => p.next_due ? ago(p.next_due).replace('now', 'due') :
			p.schedule === 'manual' ? 'by hand' : '–' },
	],
	onsort: () => {
		$('sort').value = `${pipelines.sort} ${pipelines.down ? 1 : 0}`;
	},
});

function counts() {
	const n = Object.fromEntries(STATES.map(state => [state, 0]));
	for (const p of data.pipelines)
		if (Object.hasOwn(n, p.state))
			n[p.state]++;
	return n;
}
function sentence(n) {
	const parts = ['ok', ...STATES.slice(0, -1)].filter(state => n[state])
		.map(state => `${count(n[state])} ${words(state)}`);
	const known = STATES.reduce((sum, state) => sum + n[state], 0);
	if (known < data.pipelines.length)
		parts.push(`${count(data.pipelines.length - known)} not known`);
	const all = data.pipelines.length;
	return plural(all, 'pipeline') +
		(parts.length ? `: ${parts.join(', ')}.` : '.');
}
function makeTiles() {
	const tile = (state, label) => button('', () => {
		only = only === state ? null : state;
		showList();
	}, { class: `tile ${state || 'all'}`, 'data-state': state || '' });
	$('tiles').append(...[null, ...STATES].map(tile));
	for (const t of $('tiles').children) {
		const state = t.dataset.state;
		t.append(...(state ? [icon(state)] : []), el('b', {}, '–'),
			` ${state ? words(state) : 'all'}`);
	}
}
function showTiles(n) {
	for (const t of $('tiles').children) {
		const state = t.dataset.state || null;
		const many = state ? n[state] : data.pipelines.length;
		t.setAttribute('aria-pressed', String(only === state));
		t.classList.toggle('none', !many);
		setText(t.querySelector('b'), count(many));
	}
}
function showList() {
	const n = counts();
	setText($('summary'), sentence(n));
	showTiles(n);
	pipelines.update(data.pipelines);
	setText($('count'), pipelines.count === data.pipelines.length ? '' :
		`${count(pipelines.count)} of ${plural(data.pipelines.length,
			'pipeline')} shown`);
	const bad = n.failing ? `${n.failing} failing` :
		n.late ? `${n.late} late` : '';
	document.title = [bad && `(${bad})`, opened && plain(opened), 'Tidemark']
		.filter(Boolean).join(' ');
}
function showServer() {
	const s = data.serve || {};
	setText($('server'), s.host ? `serve on ${plain(s.host)}` +
		`, process ${plain(s.pid)}, ${plural(s.jobs, 'run')} at a time` +
		(s.since ? `, up for ${span((now() - time(s.since)) / 1000)}` : '')
		: '');
	setText($('version'), data.version ? `Tidemark ${plain(data.version)}` :
		'');
	const away = s.store === 'away';
	$('store').hidden = !away;
	setText($('store'), away ? 'The state store does not answer. No run ' +
		'begins until it is back, and the states below may be old. ' +
		plain(s.store_error) : '');
}

/* ---- Charts ---- */

const CHARTS = [
	{ id: 'lag', title: 'Lag', unit: span, steps: 'time', fails: true,
	  curves: [{ key: 'lag_seconds', label: 'lag' }] },
	{ id: 'rate', title: 'Rows a second', unit: count, steps: 'number',
	  curves: [{ key: 'rows_per_second', label: 'rows a second' }] },
	{ id: 'batch', title: 'Batch latency', unit: span, steps: 'time',
	  curves: [{ key: 'batch_p50', label: 'p50' },
		   { key: 'batch_p99', label: 'p99' }] },
];
const TIME_STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2,
	5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
	43200, 86400];

/* The distance of the grid's lines, at most four of them. */
function gridStep(top, kind) {
	const rough = top / 4;
	if (kind === 'time' && rough <= 86400)
		return TIME_STEPS.find(step => step >= rough);
	const base = 10 ** Math.floor(Math.log10(rough));
	return base * [1, 2, 5, 10].find(f => f * base >= rough);
}
function frame(points, chart, width, height) {
	const values = points.flatMap(p => chart.curves.map(c => p[c.key]))
		.filter(number);
	const most = Math.max(...values, 0) || 1;
	const step = gridStep(most, chart.steps);
	const top = Math.ceil(most / step - 1e-9) * step;
	const left = 58, right = width - 8, low = height - 18, high = 8;
	const from = points[0].ms, to = Math.max(points.at(-1).ms, from + 1);
	return { left, right, low, high, step, top, from, to, values,
		x: ms => left + (ms - from) / (to - from) * (right - left),
		y: v => low - v / top * (low - high) };
}
function gridOf(f, chart) {
	const parts = [], hours = f.right - f.left < 400 ? 6 : 3;
	for (let v = 0; v <= f.top * 1.001; v += f.step)
		parts.push(el('line', { class: 'grid', x1: f.left, x2: f.right,
			y1: f.y(v), y2: f.y(v) }),
		el('text', { x: f.left - 5, y: f.y(v) + 4, 'text-anchor': 'end' },
			chart.unit(Math.round(v * 1e6) / 1e6)));
	const every = hours * 3600e3;
	for (let t = Math.ceil(f.from / every) * every; t <= f.to; t += every)
		if (f.x(t) > f.left + 12 && f.x(t) < f.right - 12)
			parts.push(el('line', { class: 'grid', x1: f.x(t), x2: f.x(t),
				y1: f.high, y2: f.low }),
			el('text', { x: f.x(t), y: f.low + 14,
				'text-anchor': 'middle' }, clock(t).slice(0, 5)));
	return parts;
}
/* A value that is not known breaks the line. A value alone is a short one. */
function pathOf(points, key, f) {
	let d = '', down = false;
	points.forEach((p, i) => {
		if (number(p[key])) {
			const at = `${f.x(p.ms).toFixed(1)} ${f.y(p[key]).toFixed(1)}`;
			d += `${down ? 'L' : 'M'}${at}`;
			if (!down && !number(points[i + 1]?.[key]))
				d += 'm-2 0h4';
		}
		down = number(p[key]);
	});
	return d;
}
function pointText(p, chart) {
	return `${clock(p.ms).slice(0, 5)}: ` + chart.curves
		.map(c => `${c.label} ${number(p[c.key]) ? chart.unit(p[c.key]) :
			'not known'}`).join(', ') +
		(chart.fails && p.failed ? `, ${plural(p.failed, 'failed run')}` : '');
}
function chartSummary(points, chart) {
	return chart.curves.map(c => {
		const known = points.filter(p => number(p[c.key]));
		if (!known.length)
			return `${c.label}: not known in these 24 hours`;
		const most = known.reduce((a, b) => b[c.key] > a[c.key] ? b : a);
		return `${c.label}: last ${chart.unit(known.at(-1)[c.key])}, ` +
			`most ${chart.unit(most[c.key])} at ` +
			clock(most.ms).slice(0, 5);
	}).join('; ');
}
function follow(svg, points, f, chart, read) {
	const cursor = el('line', { class: 'cursor', y1: f.high, y2: f.low,
		visibility: 'hidden' });
	svg.append(cursor);
	svg.onpointermove = e => {
		const x = e.clientX - svg.getBoundingClientRect().left;
		const p = points.reduce((a, b) => Math.abs(f.x(b.ms) - x) <
			Math.abs(f.x(a.ms) - x) ? b : a);
		for (const end of ['x1', 'x2'])
			cursor.setAttribute(end, f.x(p.ms));
		cursor.setAttribute('visibility', 'visible');
		setText(read, pointText(p, chart));
	};
	svg.onpointerleave = () => {
		cursor.setAttribute('visibility', 'hidden');
		setText(read, chartSummary(points, chart));
	};
}
function drawChart(figure, points, chart) {
	const svg = figure.querySelector('.chart');
	const read = figure.querySelector('.read');
	const width = svg.clientWidth || 300, height = svg.clientHeight || 150;
	if (points.length < 2) {
		svg.replaceChildren();
		setText(read, 'No figures yet.');
		return;
	}
	const f = frame(points, chart, width, height);
	svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
	svg.setAttribute('aria-label', `${chart.title} in the last 24 hours. ` +
		chartSummary(points, chart));
	const curves = f.values.length ? chart.curves.map((c, i) => el('path', {
		class: i ? 'curve second' : 'curve', d: pathOf(points, c.key, f) }))
		: [];
	const fails = !chart.fails ? [] : points.filter(p => p.failed > 0)
		.map(p => el('path', { class: 'fail',
			d: `M${f.x(p.ms)} ${f.low - 7}l4 7h-8z` }));
	svg.replaceChildren(...gridOf(f, chart), ...curves, ...fails);
	setText(read, chartSummary(points, chart));
	follow(svg, points, f, chart, read);
}
function makeChart(chart) {
	const keys = chart.curves.length > 1 ? chart.curves.map((c, i) =>
		el('span', { class: `key-${i + 1}` }, i ? ' ╌ ' : ' ─ ', c.label)) :
		chart.fails ? [el('span', { class: 'failing' }, '▲ a run failed')] :
		[];
	return el('figure', { 'data-chart': chart.id },
		el('figcaption', {}, el('h4', {}, chart.title),
			el('span', { 'aria-hidden': 'true' }, ...keys)),
		el('svg', { class: 'chart', role: 'img',
			'aria-label': chart.title }),
		el('p', { class: 'read' }));
}
/* For those who do not see the pictures: each hour's worst. */
function hourly(points) {
	const hours = new Map();
	for (const p of points) {
		const at = new Date(p.ms).toISOString().slice(0, 13);
		const h = hours.get(at) || { at, failed: 0 };
		for (const { key } of CHARTS.flatMap(c => c.curves))
			if (number(p[key]))
				h[key] = Math.max(h[key] ?? 0, p[key]);
		h.failed += p.failed || 0;
		hours.set(at, h);
	}
	return [...hours.values()];
}

/* ---- One pipeline ---- */

let view = null; /* of the opened pipeline: its elements, tables, answers */

const section = (title, ...children) =>
	el('section', { class: 'part', 'aria-label': title },
		el('h3', {}, title), ...children);
const scroller = (label, ...children) => el('div', { class: 'scroll',
	tabindex: '0', role: 'region', 'aria-label': label }, ...children);

function markText(mark) {
	if (!mark)
		return 'none yet';
	if (typeof mark !== 'object')
		return plain(mark);
	const value = plain(mark.value ?? mark.open ?? '');
	const key = mark.key && view.values ? `, key ${plain(mark.key)}` : '';
	return [mark.column && plain(mark.column), value].filter(Boolean)
		.join(' = ') + key || plain(mark.strategy || 'set');
}
function lastRunText(r) {
	if (!r)
		return 'none';
	return `${plain(words(r.outcome || r.state))}, began ` +
		`${when(r.started_at)}, ${plural(r.rows_read ?? 0, 'row')} in ` +
		plural(r.batches ?? 0, 'batch').replace(/batchs$/, 'batches');
}
function factsOf(p) {
	return [
		['Lag', lagText(p)],
		['Mark', markText(p.watermark)],
		['Last success', when(p.last_success)],
		['Last run', lastRunText(p.last_run)],
		['Schedule', `${plain(p.schedule || 'none')}` +
			(p.next_due ? `, next ${when(p.next_due)}` : '')],
		p.waiting && ['Waiting', waitText(p.waiting) +
			(p.waiting.since ? `, since ${when(p.waiting.since)}` : '')],
		p.paused_by && ['Paused', pauseText(p) + (p.paused_by.since ?
			`, since ${when(p.paused_by.since)}` : '')],
		['Running', p.lease ? `on ${plain(p.lease.host)}, process ` +
			`${plain(p.lease.pid)}, since ${when(p.lease.since)}` : 'no'],
		['From', plain(p.source) || '–'],
		['To', plain(p.destination) || '–'],
		p.guarantee && ['Guarantee', plain(p.guarantee)],
		['Dead letters', count(p.dead_letters)],
		list(p.notes).length && ['Notes', p.notes.map(plain).join('\n')],
	].filter(Boolean);
}
function showFacts(p) {
	const facts = factsOf(p);
	redraw(view.facts, facts, () => facts.flatMap(([term, text]) =>
		[el('dt', {}, term), el('dd', {}, text)]));
	redraw(view.state, [p.state], () => badge(p.state));
	setText(view.since, p.since ? `since ${when(p.since)}` : '');
	view.error.hidden = !p.last_error;
	setText(view.error, problem(p.last_error));
	const share = p.progress?.share;
	view.progress.hidden = !number(share);
	if (number(share)) {
		view.bar.value = share;
		setText(view.progressText, progressText(p.progress));
	}
	setText(view.pause, ordered(p) ? 'Resume' : 'Pause…');
}
async function pressPause() {
	const p = current(), title = plain(opened), pressed = view.pause;
	if (!p)
		return;
	const path = `pipelines/${part(p.pipeline)}/`;
	if (ordered(p)) {
		order(pressed, `${path}resume`, {}, `${title} is resumed.`,
			`${title} could not be resumed`);
		return;
	}
	const reason = await dialog({ title: `Pause ${title}?`,
		text: 'The batch in hand ends first. No run begins until somebody ' +
		'resumes the pipeline.', yes: 'Pause',
		field: 'Reason, for the others (may be empty)' });
	if (reason !== null)
		order(pressed, `${path}pause`, { reason }, `${title} is paused.`,
			`${title} could not be paused`);
}
function pressRun() {
	order(view.run, `pipelines/${part(opened)}/run`, {},
		`${plain(opened)} runs as soon as there is room.`,
		`${plain(opened)} could not be run`);
}

/* A run's figures are those of its newest attempt. */
const newest = r => list(r.attempts)[0] || r;
function duration(r) {
	const a = newest(r);
	const end = a.ended_at ? time(a.ended_at) : now();
	return (end - time(a.started_at)) / 1000;
}
function outcomeText(r) {
	const a = newest(r), error = problem(a.error);
	return plain(words(a.outcome || r.state)).toLowerCase() +
		(error ? `: ${error}` : '');
}
function runsTable() {
	return new Table({ id: 'runs', label: 'Last runs', sort: 'started',
		down: true, key: r => r.run_id, empty: 'No run is on record.',
		search: r => [r.run_id, r.state, newest(r).outcome,
			problem(newest(r).error)].map(plain).join(' '),
		isChosen: r => r.run_id === view.run_id,
		columns: [
			{ id: 'started', label: 'Began', descending: true,
			  value: r => time(newest(r).started_at || r.created_at),
			  text: r => stamp(newest(r).started_at || r.created_at) },
			{ id: 'outcome', label: 'Outcome', text: outcomeText,
			  draw: r => el('span', { class: 'why',
				title: outcomeText(r) }, outcomeText(r)) },
			{ id: 'took', label: 'Took', num: true, value: duration,
			  text: r => span(duration(r)) },
			{ id: 'batches', label: 'Batches', num: true,
			  value: r => newest(r).batches ?? null,
			  text: r => count(newest(r).batches) },
			{ id: 'rows', label: 'Rows', num: true,
			  value: r => newest(r).rows_read ?? null,
			  text: r => count(newest(r).rows_read) },
			{ id: 'do', label: 'Actions', unsorted: true, text: () => '',
			  draw: r => el('span', { class: 'tools' },
				button('Batches', () => openRun(r.run_id), {
					'aria-label': 'Batches of the run of ' +
					stamp(newest(r).started_at) }),
				button('Replay', e => replayRun(e.currentTarget, r), {
					'aria-label': 'Replay the run of ' +
					stamp(newest(r).started_at) })) },
		] });
}
async function replayRun(pressed, r) {
	const at = stamp(newest(r).started_at);
	const sure = await dialog({ title: 'Replay this run?', yes: 'Replay',
		text: `The part of the table that the run of ${at} read is read ` +
		'and loaded again. Rows that are right stay as they are.' });
	if (sure !== null)
		order(pressed, `runs/${part(r.run_id)}/replay`, {},
			`The run of ${at} is replayed.`,
			`The run of ${at} could not be replayed`);
}
function batchesTable() {
	return new Table({ id: 'batches', label: 'Batches', sort: 'number',
		down: true, key: b => b.batch_id || `${b.attempt}-${b.number}`,
		empty: 'This run has loaded no batch.',
		search: b => problem(b.error),
		columns: [
			{ id: 'number', label: 'No.', num: true, descending: true,
			  value: b => b.number ?? null, text: b => count(b.number) },
			{ id: 'at', label: 'Loaded at', value: b => time(b.at),
			  text: b => stamp(b.at) },
			{ id: 'rows', label: 'Rows', num: true,
			  value: b => b.rows_read ?? null,
			  text: b => count(b.rows_read) },
			{ id: 'did', label: 'At the destination', unsorted: true,
			  text: batchText },
			{ id: 'read', label: 'Read', num: true, descending: true,
			  value: b => b.read_seconds ?? null,
			  text: b => span(b.read_seconds) },
			{ id: 'load', label: 'Load', num: true, descending: true,
			  value: b => b.load_seconds ?? null,
			  text: b => span(b.load_seconds) },
		] });
}
function batchText(b) {
	const did = ['inserted', 'updated', 'unchanged', 'deleted',
		'dead_lettered'].filter(what => b[`rows_${what}`])
		.map(what => `${count(b[`rows_${what}`])} ${words(what)}`);
	return [...did, problem(b.error)].filter(Boolean).join(', ') || '–';
}
async function openRun(id) {
	view.run_id = id;
	view.batchesPart.hidden = false;
	view.runs.update(view.runs.rows);
	await loadRun(view);
	if (view?.run_id === id)
		view.batchesTitle.focus();
}
async function loadRun(v) {
	if (!v.run_id)
		return;
	try {
		const answer = await ask(`runs/${part(v.run_id)}`);
		const run = list(answer.runs)[0] || answer.run || answer;
		const attempts = list(run.attempts);
		v.batches.update(attempts.flatMap(a => list(a.batch_list)
			.map(b => ({ ...b, attempt: a.attempt_id }))));
		setText(v.batchesText, `Run ${plain(run.run_id || v.run_id)}: ` +
			`${plural(attempts.length, 'attempt')}. ` +
			problem(newest(run).error));
	} catch (e) {
		setText(v.batchesText, `Not known: ${inWords(e)}`);
	}
}

function lettersTable() {
	return new Table({ id: 'letters', label: 'Dead letters', sort: 'first',
		down: true, key: l => l.id, empty: 'No dead letter.',
		search: l => [l.category, problem(l.error), view.values && l.key]
			.map(plain).join(' '),
		columns: [
			{ id: 'error', label: 'Error', text: l => problem(l.error) },
			{ id: 'key', label: 'Key', unsorted: true,
			  sign: l => `${view.values}${view.shownRows.get(l.id)}`,
			  text: l => plain(l.key), draw: letterKey },
			{ id: 'tries', label: 'Tries', num: true, descending: true,
			  value: l => l.attempts ?? null, text: l => count(l.attempts) },
			{ id: 'first', label: 'Refused', num: true,
			  descending: true, value: l => time(l.created_at),
			  text: l => ago(l.created_at) },
			{ id: 'do', label: 'Actions', unsorted: true, text: () => '',
			  draw: letterButtons },
		] });
}
function letterKey(l) {
	const row = view.shownRows.get(l.id);
	return [el('span', {}, view.values ? plain(l.key) || 'none' : 'hidden'),
		...(row === undefined ? [] : [el('pre', { tabindex: '0',
			'aria-label': 'The row' }, row)])];
}
function nameRowButton(pressed, l, shown) {
	const verb = shown ? 'Hide' : 'Show';
	setText(pressed, `${verb} row`);
	pressed.setAttribute('aria-label',
		`${verb} row of dead letter ${plain(l.id)}`);
}
function rowButton(l, shown) {
	const made = button('', e => showRow(e.currentTarget, l));
	nameRowButton(made, l, shown);
	return made;
}
function letterButtons(l) {
	const path = `dead-letters/${part(l.id)}`;
	return el('span', { class: 'tools' },
		rowButton(l, view.shownRows.has(l.id)),
		button('Replay', e => order(e.currentTarget, `${path}/replay`, {},
			'The dead letter is replayed.',
			'The dead letter could not be replayed'),
			{ 'aria-label': `Replay dead letter ${plain(l.id)}` }),
		button('Discard…', e => discard(e.currentTarget, l, path),
			{ class: 'danger',
			  'aria-label': `Discard dead letter ${plain(l.id)}` }));
}
async function discard(pressed, l, path) {
	const sure = await dialog({ title: 'Discard this dead letter?',
		text: 'It leaves the list for good, and its row stays missing at ' +
		'the destination. ' + problem(l.error), yes: 'Discard',
		danger: true });
	if (sure !== null)
		order(pressed, `${path}/discard`, {}, 'The dead letter is discarded.',
			'The dead letter could not be discarded');
}
async function showRow(pressed, l) {
	const v = view;
	if (v.shownRows.delete(l.id)) {
		nameRowButton(pressed, l, false);
		v.letters.update(v.letters.rows);
		return;
	}
	try {
		const answer = await withToken(`dead-letters/${part(l.id)}`);
		if (!answer)
			return;
		const letter = list(answer.dead_letters)[0] || answer;
		v.shownRows.set(l.id, plain(JSON.stringify(letter.row ?? null, null, 2))
			+ (letter.truncated ? '\n(long values are cut)' : ''));
		nameRowButton(pressed, l, true);
		v.letters.update(v.letters.rows);
	} catch (e) {
		say(`The row could not be shown: ${inWords(e)}`, true);
	}
}

function chunksTable() {
	const edge = (c, side) => !view.values ? 'hidden' :
		c.nulls ? 'rows without a key' :
		c[side] === null || c[side] === undefined ? 'the end' : plain(c[side]);
	return new Table({ id: 'chunks', label: 'Chunks', sort: 'state',
		key: c => c.chunk_id, empty: 'No chunk.',
		search: c => [c.state, c.error].map(plain).join(' '),
		columns: [
			{ id: 'number', label: 'No.', num: true, value: c => c.number,
			  text: c => count(c.number) },
			{ id: 'state', label: 'State', value: c => ['failed', 'running',
				'queued', 'done'].indexOf(chunkState(c)),
			  text: c => chunkState(c) },
			{ id: 'rows', label: 'Rows', num: true, descending: true,
			  value: c => c.rows ?? null, text: c => count(c.rows) },
			{ id: 'from', label: 'From', unsorted: true,
			  text: c => edge(c, 'from') },
			{ id: 'to', label: 'To, or error', unsorted: true,
			  text: c => c.error ? problem(c.error) : edge(c, 'to') },
		] });
}
const chunkState = c => plain(c.state);
/* Neighbours of one state are one rectangle, so that many chunks cost little. */
function chunkBar(chunks, label) {
	const svg = el('svg', { class: 'chunkbar', role: 'img',
		viewBox: `0 0 ${chunks.length} 1`, preserveAspectRatio: 'none',
		'aria-label': label });
	for (let i = 0, from = 0; i < chunks.length; i++)
		if (chunkState(chunks[i]) !== chunkState(chunks[i + 1] || {})) {
			svg.append(el('rect', { x: from, y: 0, width: i + 1 - from,
				height: 1, class: chunkState(chunks[i]) }));
			from = i + 1;
		}
	return svg;
}
function backfillText(b, chunks) {
	const of = state => b[state] ?? chunks.filter(
		c => chunkState(c) === state).length;
	const rate = b.rows_per_second;
	return [`${count(of('done'))} of ${plural(chunks.length, 'chunk')} done`,
		...['running', 'queued', 'failed'].filter(of)
			.map(state => `${count(of(state))} ${state}`),
		rate > 0 && `${count(rate)} rows a second`,
		number(b.eta_seconds) && `${span(b.eta_seconds)} left`]
		.filter(Boolean).join(', ');
}
function showChunks(answer) {
	const b = answer.backfill || {}, all = list(answer.chunks);
	/* The newest backfill's are the last of the list. */
	const chunks = all.slice(number(b.chunks) ? all.length - b.chunks : 0)
		.map((c, i) => ({ ...c, number: i + 1 }));
	view.chunksPart.hidden = !chunks.length;
	if (!chunks.length)
		return;
	const text = backfillText(b, chunks);
	setText(view.chunksText, text);
	redraw(view.chunkBar, [text, chunks.map(c => c.state)],
		() => chunkBar(chunks, text));
	view.chunks.update(chunks);
}

function showPace(answer) {
	const p = list(answer.pipelines)[0] || answer, pace = p.pace || {};
	const off = { rows_per_second: 'no limit', bytes_per_second: 'no limit',
		replica_lag: 'not looked at', max_active: 'not looked at',
		pause_file: 'none' };
	const labels = { rows_per_second: 'Rows a second',
		bytes_per_second: 'Bytes a second', replica_lag: 'Replica lag',
		max_active: 'Active sessions', pause_file: 'Pause file' };
	const facts = Object.entries(labels).map(([key, label]) => [label,
		/^(0\D*|)$/.test(plain(pace[key])) ? off[key] : plain(pace[key])]);
	redraw(view.paceFacts, facts, () => facts.flatMap(([term, text]) =>
		[el('dt', {}, term), el('dd', {}, text)]));
	setText(view.paceText, p.set ? `Changed by hand ${when(p.changed_at)}` +
		`${p.changed_by ? ` by ${plain(p.changed_by)}` : ''}.` :
		'As the config has it.');
	if (document.activeElement !== view.paceInput && !view.paceTouched)
		view.paceInput.value = plain(pace.rows_per_second ?? '');
}
async function setPace(e) {
	e.preventDefault();
	const title = plain(opened), v = view, rate = v.paceInput.value.trim();
	if (!/^\d+$/.test(rate)) {
		v.paceInput.setAttribute('aria-invalid', 'true');
		say('Rows a second must be a whole number. 0 means no limit.', true);
		v.paceInput.focus();
		return;
	}
	v.paceInput.removeAttribute('aria-invalid');
	await order(v.paceSet, `pipelines/${part(opened)}/pace`,
		{ rows_per_second: rate }, `${title} reads ` + (rate === '0' ?
			'as fast as it can.' : `at most ${count(+rate)} rows a second.`),
		`The pace of ${title} could not be set`);
	v.paceTouched = false;
}

function seriesTable() {
	const figure = (key, label, unit) => ({ id: key, label, num: true,
		descending: true, value: h => h[key] ?? null,
		text: h => unit(h[key]) });
	return new Table({ id: 'series', label: 'Each hour\'s highest figures',
		sort: 'at', down: true, key: h => h.at,
		columns: [{ id: 'at', label: 'Hour', descending: true,
			    text: h => h.at.replace('T', ' ') + ':00' },
			  figure('lag_seconds', 'Lag', span),
			  figure('rows_per_second', 'Rows/s', count),
			  figure('batch_p50', 'p50', span),
			  figure('batch_p99', 'p99', span),
			  figure('failed', 'Failed', count)] });
}
function showSeries() {
	view.charts.forEach((figure, i) =>
		drawChart(figure, view.points, CHARTS[i]));
	view.hours.update(hourly(view.points));
}

function makeTables(v) {
	v.runs = runsTable();
	v.batches = batchesTable();
	v.letters = lettersTable();
	v.chunks = chunksTable();
	v.hours = seriesTable();
}
function makeHead(v) {
	v.state = el('span', {});
	v.since = el('span', { class: 'soft' });
	v.run = button('Run now', pressRun, { class: 'main' });
	v.pause = button('Pause…', pressPause);
	v.values = false;
	v.show = button('Show values of rows', () => {
		v.values = !v.values;
		setText(v.show, v.values ? 'Hide values of rows' :
			'Show values of rows');
		v.letters.update(v.letters.rows);
		v.chunks.update(v.chunks.rows);
		showDetail();
	}, { title: 'Keys and borders of chunks' });
	v.title = el('h2', { id: 'detail-title', tabindex: '-1' },
		name(v.pipeline));
	return [el('div', { class: 'head' }, v.title,
		button('Close', close, { 'aria-label': 'Close this pipeline and go ' +
			'back to the list' })),
	el('p', {}, v.state, ' ', v.since),
	el('div', { class: 'tools' }, v.run, v.pause, v.show)];
}
function makeFigures(v) {
	v.points = [];
	v.charts = CHARTS.map(makeChart);
	const more = el('details', {}, el('summary', {}, 'The same as a table'),
		v.hours.element);
	return section('The last 24 hours', el('div', { class: 'charts' },
		...v.charts), more);
}
function makePace(v) {
	v.paceFacts = el('dl', { class: 'facts' });
	v.paceText = el('p', { class: 'soft' });
	v.paceInput = el('input', { id: 'pace-rows', inputmode: 'numeric',
		autocomplete: 'off', size: '9',
		oninput: () => { v.paceTouched = true; } });
	v.paceSet = el('button', { type: 'submit' }, 'Set the pace');
	return section('Pace', v.paceFacts, v.paceText, el('form',
		{ class: 'bar', onsubmit: setPace },
		el('label', { for: 'pace-rows' },
			'Rows a second, at most (0: no limit)'),
		v.paceInput, v.paceSet));
}
function makeLists(v) {
	v.batchesTitle = el('h3', { tabindex: '-1' }, 'Batches of the run');
	v.batchesText = el('p', { class: 'soft any' });
	v.batchesPart = el('section', { class: 'part', hidden: true,
		'aria-label': 'Batches of the run' },
	el('div', { class: 'head' }, v.batchesTitle, button('Close', () => {
		v.run_id = null;
		v.batchesPart.hidden = true;
		v.runs.update(v.runs.rows);
	}, { 'aria-label': 'Close the batches' })), v.batchesText,
	filterBox(v.batches, 'Filter the batches'),
	scroller('Batches', v.batches.element));
	v.lettersText = el('p', { class: 'soft' });
	v.runsText = el('p', { class: 'soft' });
	return [section('Last runs', v.runsText,
		filterBox(v.runs, 'Filter the runs'),
		scroller('Runs', v.runs.element)), v.batchesPart,
	section('Dead letters', v.lettersText,
		filterBox(v.letters, 'Filter the dead letters'),
		scroller('All dead letters', v.letters.element))];
}
function makeChunks(v) {
	v.chunksText = el('p', { role: 'status' });
	v.chunkBar = el('div', {});
	v.chunksPart = section('Backfill', v.chunksText, v.chunkBar,
		el('details', {}, el('summary', {}, 'All chunks'),
			filterBox(v.chunks, 'Filter the chunks'),
			scroller('Chunks', v.chunks.element)));
	v.chunksPart.hidden = true;
	return v.chunksPart;
}
function makeView(pipeline) {
	const v = { pipeline, shownRows: new Map(), run_id: null, seriesAt: 0 };
	makeTables(v);
	v.error = el('p', { class: 'problem', hidden: true });
	v.facts = el('dl', { class: 'facts' });
	v.bar = el('progress', { max: '1', 'aria-label': 'Progress of the run' });
	v.progressText = el('span', {});
	v.progress = el('div', { hidden: true }, v.bar, v.progressText);
	v.gone = el('p', { class: 'problem', hidden: true },
		'The server does not know this pipeline.');
	$('detail').replaceChildren(...makeHead(v), v.gone, v.error, v.progress,
		v.facts, makeChunks(v), makeFigures(v), ...makeLists(v),
		makePace(v));
	return v;
}
const current = () => data.pipelines.find(p => p.pipeline === opened);
function showDetail() {
	if (!view)
		return;
	const p = current();
	view.gone.hidden = Boolean(p) || lastGood === null;
	view.run.disabled = view.pause.disabled = !p;
	if (p)
		showFacts(p);
}
/* Ask for all parts of the opened pipeline. One that fails says so in its own
 * place, and the others are shown. */
async function loadDetail() {
	const v = view;
	if (!v)
		return;
	const show = async (asked, done, place) => {
		try {
			const answer = await asked;
			if (view === v)
				done(answer);
		} catch (e) {
			if (view === v && place)
				setText(place, `Not known: ${inWords(e)}`);
		}
	};
	const jobs = [
		show(about('runs', v.pipeline, `&limit=${RUNS}`), a => {
			v.runs.update(list(a.runs));
			setText(v.runsText, '');
		}, v.runsText),
		show(about('dead-letters', v.pipeline, `&limit=${LETTERS}`), a =>
			showLetters(v, list(a.dead_letters)), v.lettersText),
		show(about('chunks', v.pipeline), showChunks),
		show(about('pace', v.pipeline), showPace, v.paceText),
		loadRun(v),
	];
	if (Date.now() - v.seriesAt >= SERIES_MS) {
		v.seriesAt = Date.now();
		jobs.push(show(about('series', v.pipeline), a => {
			v.points = list(a.points).map(p => ({ ...p, ms: time(p.at) }))
				.filter(p => !isNaN(p.ms));
			showSeries();
		}, v.charts[0].querySelector('.read')));
	}
	await Promise.all(jobs);
}
function showLetters(v, letters) {
	v.letters.update(letters);
	setText(v.lettersText, letters.length < LETTERS ? '' :
		`The newest ${LETTERS} are shown.`);
}

/* ---- Where one is: #/NAME ---- */

const go = pipeline => { location.hash = `#/${part(pipeline)}`; };
const close = () => { location.hash = '#/'; };
function route() {
	let pipeline = null;
	try {
		const match = /^#\/(.+)$/s.exec(location.hash);
		pipeline = match ? decodeURIComponent(match[1]) : null;
	} catch {
		pipeline = null; /* no address of this page */
	}
	if (pipeline === opened)
		return;
	const before = opened;
	opened = pipeline;
	$('main').classList.toggle('both', opened !== null);
	$('detail').hidden = opened === null;
	view = opened === null ? null : makeView(opened);
	showList();
	showDetail();
	if (view) {
		$('detail').scrollTop = 0;
		view.title.focus();
		loadDetail();
	} else {
		$('detail').replaceChildren();
		const row = pipelines.shown.get(before);
		(row?.tr.querySelector('a') || $('list-title')).focus();
	}
}

/* ---- Polling ---- */

let timer = null, asking = null, stopped = false;
let lastGood = null, badSince = null, badWords = '', wantsToken = false;

function showLive() {
	const live = $('live'), bad = badSince !== null;
	live.className = bad ? 'live bad' : stopped ? 'live off' : 'live';
	const age = lastGood === null ? null : 
		Math.floor((Date.now() - lastGood) / 1000);
	setText($('live-text'), bad ? 'No answer for ' +
		span(Math.floor((Date.now() - badSince) / 1000)) : age === null ?
		'Asking the server…' : stopped ? `Stopped, as of ${span(age)} ago` :
		age < 2 * POLL_MS / 1000 ? 'Live' : `As of ${span(age)} ago`);
	document.body.classList.toggle('old', bad && lastGood !== null);
	$('trouble').hidden = !bad;
	if (!bad)
		return;
	redraw($('trouble'), [badSince, badWords, lastGood], () => [
		el('strong', {}, wantsToken ? 'The server wants a token. ' :
			`The server has not answered since ${clock(badSince +
				clockAhead)} UTC: ${badWords}. `),
		lastGood === null ? 'There is nothing to show yet. ' :
			`The page shows how things were at ${clock(lastGood +
				clockAhead)} UTC. `,
		wantsToken ? badWords : 'It tries again by itself.']);
}
function take(answer) {
	const at = time(answer.now);
	clockAhead = isNaN(at) ? 0 : at - Date.now();
	data = { ...answer, pipelines: list(answer.pipelines)
		.filter(p => p && typeof p.pipeline === 'string') };
	lastGood = Date.now();
	badSince = null;
	wantsToken = false;
	showServer();
	showList();
	showDetail();
}
async function pollOnce() {
	const began = performance.now();
	try {
		take(await ask('pipelines?brief=1'));
		await loadDetail();
	} catch (e) {
		badSince ??= Date.now();
		badWords = inWords(e);
		wantsToken = e.status === 401;
		if (wantsToken && !$('dialog').open)
			askToken(e).then(ok => ok && poll());
	}
	showLive();
	return performance.now() - began;
}
/* A server that answers slowly is asked less often, and one that wants a token
 * is asked when there is one. */
async function poll() {
	clearTimeout(timer);
	asking ??= pollOnce();
	const took = await asking;
	asking = null;
	clearTimeout(timer);
	if (!stopped && !document.hidden && !wantsToken)
		timer = setTimeout(poll, Math.min(MOST_POLL_MS,
			Math.max(POLL_MS, 4 * took)));
}

/* ---- The start ---- */

function makeSort() {
	for (const c of pipelines.columns)
		for (const down of c.descending ? [1, 0] : [0, 1])
			$('sort').append(el('option', { value: `${c.id} ${down}` },
				`${c.label}${down ? ', downwards' : ''}`));
	$('sort').onchange = () => {
		const [id, down] = $('sort').value.split(' ');
		pipelines.sortBy(id, down === '1');
	};
}
function escape(e) {
	if (e.key !== 'Escape' || $('dialog').open || e.defaultPrevented)
		return;
	const field = e.target.closest?.('input');
	if (field?.value) {
		field.value = '';
		field.dispatchEvent(new Event('input'));
		e.preventDefault();
	} else if (opened !== null) {
		close();
	}
}
function listen() {
	$('filter').oninput = () => {
		pipelines.words = $('filter').value.trim().toLowerCase();
		showList();
	};
	$('token').onclick = async () => {
		if (kept()) {
			kept(null);
			showToken();
			say('The token is forgotten.');
			poll();
		} else if (await giveToken()) {
			poll();
		}
	};
	$('updates').onclick = () => {
		stopped = !stopped;
		$('updates').setAttribute('aria-pressed', String(stopped));
		clearTimeout(timer);
		showLive();
		if (!stopped)
			poll();
	};
	document.addEventListener('visibilitychange', () => {
		clearTimeout(timer);
		if (!document.hidden && !stopped)
			poll();
	});
	document.addEventListener('keydown', escape);
	addEventListener('hashchange', route);
	addEventListener('resize', () => view?.points.length && showSeries());
	setInterval(showLive, 1000);
}
makeTiles();
makeSort();
$('pipelines').append(pipelines.element);
pipelines.none.hidden = true;
pipelines.table.hidden = true;
showToken();
listen();
route();
poll();
})();
