// Runs in the page that scripts/pages/check makes: shows each report at each width in a frame, and lists what is wrong.
// `pages` is { name: markup }, `axeSource` the text of axe-core, `dark` what the browser was told to prefer.

const WIDTHS = [360, 768, 1280, 1920];

// Where rules are checked: of other colours contrast alone, and the layout at every width. The first page has all kinds
// of parts; of the others one width has to do.
function rulesFor(page, width) {
    const first = page === Object.keys(pages)[0];
    if (dark) {
        return first && width === 1280 ? { type: 'rule', values: ['color-contrast'] } : undefined;
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    return width === 1280 || (first && width === 360) ? { type: 'tag', values: tags } : undefined;
}

function described(node) {
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    const text = (node.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 60);
    return `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') || ''}"> ${text}`;
}

// Text that a reader cannot see whole: beyond the page, beyond its plot, under other text, or in a box that scrolls.
function cutText(frame) {
    const found = [];
    const view = frame.contentWindow;
    const page = frame.contentDocument;
    const width = page.documentElement.clientWidth;
    if (page.documentElement.scrollWidth > width) {
        found.push(`the page is ${page.documentElement.scrollWidth} wide`);
    }
    for (const box of page.querySelectorAll('.scroll')) {
        if (box.scrollWidth > box.clientWidth + 1) {
            found.push(`scrolls by ${box.scrollWidth - box.clientWidth}: ${described(box)}`);
        }
    }
    const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        const parent = node.parentElement;
        if (!node.data.trim() || parent.closest('svg, .skip, thead') || view.getComputedStyle(parent).fontSize === '0px') {
            continue;
        }
        const range = page.createRange();
        range.selectNodeContents(node);
        for (const place of range.getClientRects()) {
            if (place.width > 1 && (place.left < -1 || place.right > width + 1)) {
                found.push(`from ${place.left} to ${place.right}: ${described(node)}`);
            }
        }
    }
    for (const plot of page.querySelectorAll('svg.plot')) {
        const frame = plot.getBoundingClientRect();
        const texts = [...plot.querySelectorAll('text')].map((text) => [text, text.getBoundingClientRect()]);
        texts.forEach(([text, at], index) => {
            if (at.left < frame.left - 2 || at.right > frame.right + 2 || at.top < frame.top - 3 || at.bottom > frame.bottom + 3) {
                found.push(`outside of its plot: ${described(text)}`);
            }
            for (const [other, place] of texts.slice(index + 1)) {
                const across = Math.min(at.right, place.right) - Math.max(at.left, place.left);
                const down = Math.min(at.bottom, place.bottom) - Math.max(at.top, place.top);
                if (across > 1 && down > 4 * (at.height / 14)) {
                    found.push(`over other text: ${described(text)}; ${described(other)}`);
                }
            }
            if (text.textContent && at.height < 9.5) {
                found.push(`text is ${at.height} high: ${described(text)}`);
            }
        });
    }
    return found;
}

async function brokenRules(frame, runOnly) {
    frame.contentWindow.eval(axeSource);
    const result = await frame.contentWindow.axe.run(frame.contentDocument, {
        runOnly,
        resultTypes: ['violations'],
    });
    return {
        passed: result.passes.length,
        found: result.violations.flatMap((rule) =>
            rule.nodes.slice(0, 3).map((node) => `${rule.id} (${rule.help}): ${node.html.slice(0, 160)} ${node.failureSummary.split('\n')[1] || ''}`)),
    };
}

function shown(markup, width) {
    return new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.style = `width: ${width}px; height: 1000px; border: 0`;
        frame.onload = () => resolve(frame);
        frame.srcdoc = markup;
        document.body.append(frame);
    });
}

async function check() {
    const report = { dark: matchMedia('(prefers-color-scheme: dark)').matches, views: [] };
    for (const [name, markup] of Object.entries(pages)) {
        for (const width of dark ? [1280] : WIDTHS) {
            const frame = await shown(markup, width);
            const view = { name, width, rules: 0, found: cutText(frame) };
            const runOnly = rulesFor(name, width);
            if (runOnly) {
                const rules = await brokenRules(frame, runOnly);
                view.rules = rules.passed;
                view.found.push(...rules.found);
            }
            report.views.push(view);
            frame.remove();
        }
    }
    return report;
}

const said = document.getElementById('said');
check().then(
    (report) => { said.textContent = JSON.stringify(report); },
    (error) => { said.textContent = JSON.stringify({ error: String(error && error.stack || error) }); },
);
