// Writes the one comment of clitape on a pull request: the verdict, and of each cause the chat that was expected beside
// the one that came. A comment that is there already is changed.
//
// REPORT is the folder with report.json and report.md, NAME tells comments of several uses apart, PAGE is the address of
// the page, TOKEN may write comments. It ends well where there is no pull request, or where the token may not write.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const { REPORT, NAME, PAGE, TOKEN } = process.env;
const { GITHUB_API_URL, GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_RUN_ID, GITHUB_SERVER_URL } = process.env;

/** The most characters of a comment. */
const MOST = 65_536;
/** Room for the sentence about what was cut off. */
const REST = 300;

/** Returns text that is neither markup nor the end of a line, for a block of HTML on one line. */
function escaped(text) {
    const codes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\n": "&#10;", "\r": "&#13;" };
    return text.replace(/[&<>"'\n\r]/g, (c) => codes[c]);
}

/** Returns one side of a chat; lines that the other side lacks are bold. */
function side(messages, others) {
    const known = new Set(others.flat());
    const line = (text) => (known.has(text) ? escaped(text) : `<b>${escaped(text)}</b>`);
    // A line between two messages, as nothing of a message can be.
    return messages.map((lines) => lines.map(line).join("&#10;")).join("&#10;&#10;————&#10;&#10;");
}

/**
 * Returns the chat that was expected beside the one that came. It is one line of HTML: Markdown reads nothing inside,
 * no blank line ends it before its own end, and GitHub links no name in code.
 */
function beside({ at, above, expected, got }) {
    const cell = (messages, others) => `<td valign="top"><pre><code>${side(messages, others)}</code></pre></td>`;
    const moment = at === undefined || at === null ? "" : ` at ${(at / 1000).toFixed(3)} s`;
    const more = above > 0 ? `<p>${above} more above, the same on both sides</p>` : "";
    const head = `<tr><th>expected</th><th>came${moment}</th></tr>`;
    return `<table>${head}<tr>${cell(expected, got)}${cell(got, expected)}</tr></table>${more}\n`;
}

/** Splits a report in Markdown into its head and a section for each cause; a heading in a block of code is none. */
function sections(markdown) {
    const parts = [[]];
    let fence = "";
    for (const line of markdown.split("\n")) {
        const mark = /^(`{3,})/.exec(line)?.[1] ?? "";
        if (!fence && line.startsWith("### ")) {
            parts.push([]);
        }
        if (!fence && mark) {
            fence = mark;
        } else if (fence && line === fence) {
            fence = "";
        }
        parts.at(-1).push(line);
    }
    return parts.map((lines) => `${lines.join("\n").trimEnd()}\n`);
}

/** Returns the chats of a report, by the place and the sentence of their findings. */
function chats(report) {
    const checks = [...report.scenarios.flatMap((scenario) => scenario.checks), ...report.house];
    const found = checks.flatMap((check) => check.findings).filter((finding) => finding.chat);
    return new Map(found.map((finding) => [`${finding.place}\n${finding.sentence}`, finding.chat]));
}

/** Returns a section with its chat drawn side by side instead of as a difference. */
function drawn(section, known) {
    const about = /\n(`{3,})text\n([\s\S]*?)\n\1\n/.exec(section);
    const chat = known.get(about?.[2].split("\n").slice(0, 2).join("\n"));
    if (!chat) {
        return section;
    }
    return section.replace(/\n(`{3,})diff\n[\s\S]*?\n\1\n/, () => `\n\n${beside(chat)}\n`);
}

/** Returns the body of the comment; it ends at the border of a section where not all of them fit. */
function body(marker, report, markdown, links) {
    const [head, ...causes] = sections(markdown);
    const known = chats(report);
    let text = `${marker}\n${head}`;
    let shown = 0;
    for (const cause of causes.map((section) => drawn(section, known))) {
        if (text.length + 1 + cause.length + links.length + REST > MOST) {
            break;
        }
        text += `\n${cause}`;
        shown += 1;
    }
    if (shown < causes.length) {
        text += `\nThe comment is full: it shows ${shown} of ${causes.length} causes. The page has all of them.\n`;
    }
    return `${text}\n${links}\n`;
}

/** Calls the API, and returns the status with the answer. */
async function call(method, path, content) {
    const answer = await fetch(`${GITHUB_API_URL}${path}`, {
        method,
        headers: {
            accept: "application/vnd.github+json",
            authorization: `Bearer ${TOKEN}`,
            "x-github-api-version": "2022-11-28",
        },
        body: content && JSON.stringify(content),
        signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    return { status: answer.status, value: answer.ok ? JSON.parse(text) : text };
}

/** Returns the address of the comment with the marker that a program wrote, or undefined; or a refused answer. */
async function existing(issue, marker) {
    for (let page = 1; page <= 50; page += 1) {
        const answer = await call("GET", `${issue}/comments?per_page=100&page=${page}`);
        if (answer.status !== 200) {
            return { refused: answer };
        }
        // A person may quote the marker; only a program's comment is changed.
        const own = answer.value.find((it) => it.body?.startsWith(marker) && it.user?.type === "Bot");
        if (own || answer.value.length < 100) {
            return { id: own?.id };
        }
    }
    return {};
}

/** Writes a line that GitHub Actions shows beside the run. */
function warn(text) {
    console.log(`::warning title=clitape::${text.replace(/%/g, "%25").replace(/\r/g, "%0D").replace(/\n/g, "%0A")}`);
}

async function main() {
    const event = GITHUB_EVENT_PATH ? JSON.parse(readFileSync(GITHUB_EVENT_PATH, "utf8")) : {};
    const number = event.pull_request?.number;
    if (!Number.isInteger(number)) {
        console.log("no pull request: no comment");
        return;
    }
    const [json, markdown] = ["report.json", "report.md"].map((file) => join(REPORT, file));
    if (!existsSync(json) || !existsSync(markdown)) {
        warn("clitape has left no report, so that there is no comment");
        return;
    }
    const marker = `<!-- clitape action: ${NAME.replace(/[^\w.-]/g, "-")} -->`;
    const run = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}`;
    const links = [PAGE && `[The page](${PAGE})`, `[the run](${run})`].filter(Boolean).join(" · ");
    const report = JSON.parse(readFileSync(json, "utf8"));
    const content = { body: body(marker, report, readFileSync(markdown, "utf8"), links) };

    const issues = `/repos/${GITHUB_REPOSITORY}/issues`;
    const { id, refused } = await existing(`${issues}/${number}`, marker);
    let answer = refused;
    if (!refused) {
        answer = id
            ? await call("PATCH", `${issues}/comments/${id}`, content)
            : await call("POST", `${issues}/${number}/comments`, content);
    }
    if (answer.status >= 300) {
        const why = answer.status === 403 ? "; it needs `permissions: pull-requests: write`, which forks do not get" : "";
        warn(`the token can't write the comment (${answer.status})${why}`);
        return;
    }
    console.log(`${id ? "changed" : "wrote"} the comment ${answer.value.html_url ?? ""}`);
}

main().catch((error) => warn(`the comment failed: ${error.message}`));
