"""The page for people who do not see it well, or not at all."""

import pytest
from playwright.sync_api import expect

from conftest import NARROW, WIDE, ask_now
from servers import wait_for

# Names of roles, ids that are used twice, fields without labels, orders of
# headings: the rules that matter here of those that axe has.
FAULTS = """() => {
    const faults = [];
    const seen = e => e.checkVisibility({ visibilityProperty: true });
    const label = e => (e.getAttribute('aria-label') || '').trim() ||
        (e.getAttribute('aria-labelledby') || '').split(' ')
            .map(id => document.getElementById(id)?.textContent || '').join('')
            .trim() ||
        [...(e.labels || [])].map(l => l.textContent).join('').trim() ||
        (e.matches('input, select, svg, table, section, dialog') ? '' :
            e.textContent.trim());
    const all = [...document.body.querySelectorAll('*')];
    const ids = all.map(e => e.id).filter(Boolean);
    for (const id of ids)
        if (ids.indexOf(id) !== ids.lastIndexOf(id))
            faults.push(`two elements have the id ${id}`);
    const regions = all.filter(e => seen(e) && label(e) &&
        e.matches('section, [role=region]')).map(label);
    for (const text of regions)
        if (regions.indexOf(text) !== regions.lastIndexOf(text))
            faults.push(`two regions have the name ${text}`);
    for (const e of all) {
        if (!seen(e))
            continue;
        const what = e.outerHTML.slice(0, 120);
        if (e.matches('a, button, input, select, summary, table, dialog, ' +
            'progress, [role=img], [role=region], [role=group]') && !label(e))
            faults.push(`no name: ${what}`);
        if (e.matches('a:not([href]), [tabindex]:not([tabindex="0"],' +
            '[tabindex="-1"]), [style]:not([data-looks])'))
            faults.push(`odd attribute: ${what}`);
        if (e.matches('svg:not([role=img], [aria-hidden=true])'))
            faults.push(`a picture that is neither told nor hidden: ${what}`);
        // Some browsers take the meaning from a table that is laid out anew.
        if (e.matches('table:not([role=table]), tbody:not([role=rowgroup]),' +
            'tr:not([role=row]), td:not([role=cell]),' +
            'thead:not([role=rowgroup]), th:not([role=columnheader])'))
            faults.push(`a part of a table without its role: ${what}`);
        if (e.matches('button, a') &&
            e.querySelector('button, a, input, select'))
            faults.push(`one control in another: ${what}`);
        if (e.scrollHeight > e.clientHeight + 1 &&
            ['auto', 'scroll'].includes(getComputedStyle(e).overflowY) &&
            !e.matches('[tabindex="0"], pre[tabindex], dialog, html, body') &&
            !e.querySelector('a, button, input'))
            faults.push(`scrolls, but not by keyboard: ${what}`);
    }
    let last = 0;
    for (const h of document.querySelectorAll('h1, h2, h3, h4')) {
        if (!seen(h))
            continue;
        const level = Number(h.tagName[1]);
        if (level > last + 1)
            faults.push(`${h.tagName} "${h.textContent}" after h${last}`);
        last = level;
    }
    return faults;
}"""

# The contrast of each text with what lies behind it, as WCAG counts it.
PALE = """() => {
    const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(v => (v /= 255) <= 0.03928 ?
            v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length === 3 || c[3] === 1)
                return c;
        }
        return [255, 255, 255];
    };
    const pale = [];
    for (const e of document.body.querySelectorAll('*')) {
        const own = [...e.childNodes].some(n => n.nodeType === 3 &&
            n.textContent.trim());
        if (!own || !e.checkVisibility() || e.closest('symbol'))
            continue;
        const style = getComputedStyle(e);
        const front = e.matches('svg text') ? style.fill : style.color;
        const [a, b] = [light(parse(front)), light(behind(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const opacity = Number(getComputedStyle(e).opacity);
        if (ratio < 4.5 || opacity < 0.7)
            pale.push(`${ratio.toFixed(2)}: ${e.textContent.trim()
                .slice(0, 40)}`);
    }
    return pale;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "375"])
def test_names_roles_and_contrast(world, open_page, size, scheme):
    page = open_page(world.url, size, scheme, reduced_motion="reduce")
    expect(page.locator("#pipelines tbody tr")).to_have_count(7)
    for kind in (None, "letters", "backfill", "failing"):
        if kind:
            page.goto(f"{world.url}#/{world.names[kind]}")
            expect(page.locator("#detail .curve")).to_have_count(4)
        assert page.evaluate(FAULTS) == []
        assert page.evaluate(PALE) == []
    page.get_by_role("button", name="Batches of the run").first.click()
    page.get_by_role("button", name="Pause…").click()
    expect(page.get_by_role("dialog", name="Pause")).to_be_visible()
    assert page.evaluate(FAULTS) == []


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "375"])
def test_tables_are_tables(world, open_page, size):
    """Also on a telephone, where they look like cards."""
    page = open_page(world.url, size)
    table = page.get_by_role("table", name="Pipelines")
    expect(table.get_by_role("row")).to_have_count(8)
    tree = table.aria_snapshot()
    assert 'columnheader "State' in tree
    assert 'cell "failing"' in tree
    assert page.locator("th[scope=col]").count() > 5


def test_regions(world, open_page):
    page = open_page(world.url)
    expect(page.locator("#pipelines tbody tr")).to_have_count(7)
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("banner").count() == 1
    assert page.get_by_role("contentinfo").count() == 1
    assert page.get_by_role("search").count() == 1
    summary = page.locator("#summary")
    assert summary.get_attribute("aria-live") == "polite"
    assert page.locator("html").get_attribute("lang") == "en"


def test_the_summary_speaks_only_of_changes(world, open_page):
    """A screen reader reads it out each time that its text is touched."""
    page = open_page(world.url)
    expect(page.locator("#pipelines tbody tr")).to_have_count(7)
    page.evaluate("""() => {
        window.touched = 0;
        new MutationObserver(() => window.touched++).observe(
            document.getElementById('summary'),
            { childList: true, characterData: true, subtree: true });
    }""")
    asked = world.state.asked.count("pipelines")
    for n in range(3):
        ask_now(page)
        wait_for(lambda n=n: world.state.asked.count("pipelines") > asked + n)
    assert page.evaluate("window.touched") == 0
    world.state.pipelines.popitem()
    expect(page.locator("#summary")).to_contain_text("6 pipelines")
    assert page.evaluate("window.touched") == 1
