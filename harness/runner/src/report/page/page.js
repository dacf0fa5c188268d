"use strict";
// Draws the scrubber of each run. Anything recorded becomes text, never markup: every node is
// made here, and takes what it says through textContent.
(() => {
  const { runs } = JSON.parse(document.getElementById("data").textContent);
  // How long a chat shows that somebody is typing, in ms: https://core.telegram.org/bots/api#sendchataction
  const TYPING = 5000;
  const sections = [...document.querySelectorAll("section.run")];
  document.documentElement.classList.add("js");
  const views = sections.map((section) => view(section, runs[Number(section.dataset.run)]));
  let active;
  activate(views[0]);
  go();

  // The run that keys are for.
  function activate(view) {
    for (const other of views) other.section.classList.toggle("active", other === view && views.length > 1);
    active = view;
  }

  // How many pixels of a run's scrubber are in the window.
  function inView({ section }) {
    const { top, bottom } = section.querySelector(".scrubber").getBoundingClientRect();
    return Math.min(bottom, innerHeight) - Math.max(top, 0);
  }

  // Makes the run active that is seen, where the active one has been scrolled away.
  function follow() {
    if (inView(active) > 0) return;
    const seen = views.reduce((most, view) => (inView(view) > inView(most) ? view : most));
    if (inView(seen) > 0) activate(seen);
  }

  // Goes to the moment that the address names: `#t=4200`, or `#run=1&t=4200` on a page with further runs.
  function go() {
    const named = new URLSearchParams(location.hash.slice(1));
    const view = views.find((view) => view.section.dataset.run === (named.get("run") ?? "0"));
    if (!view || !/^\d+$/.test(named.get("t") ?? "")) return;
    activate(view);
    view.seek(Number(named.get("t")));
    view.section.querySelector(".scrubber").scrollIntoView({ block: "nearest" });
  }
  addEventListener("hashchange", go);

  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function seconds(ms) {
    return (ms / 1000).toFixed(3) + " s";
  }

  // The last of `list`, sorted, of which `fits` holds; -1 if it holds of none.
  function last(list, fits) {
    let from = -1;
    let to = list.length - 1;
    while (from < to) {
      const middle = Math.ceil((from + to) / 2);
      if (fits(list[middle])) from = middle;
      else to = middle - 1;
    }
    return from;
  }

  function bubble(message) {
    const node = make("div", message.is_own ? "bubble own" : "bubble");
    for (const { text, marks, link } of message.spans) {
      const span = make("span", marks, text);
      if (link) span.title = link;
      node.append(span);
    }
    const edits = message.edits === 0 ? "" : message.edits === 1 ? "edited" : "edited ×" + message.edits;
    const state = [edits, message.is_final ? "final ✓✓" : ""].filter(Boolean);
    const words = [...(message.is_own || state.length ? state : ["sent"]), seconds(message.at)];
    node.append(make("span", "meta", words.join(" · ")));
    return node;
  }

  function view(section, { entries, chat: { frames, messages }, records }) {
    const find = (selector) => section.querySelector(selector);
    const rows = [...section.querySelectorAll("tr[data-entry]")];
    const cursors = [...section.querySelectorAll("rect.now")];
    const hidden = new Set();
    const calls = [...entries.keys()].filter((place) => entries[place].lane === "telegram");
    const end = entries.reduce((end, entry) => Math.max(end, entry.at), 1);
    const slider = find(".time");
    slider.max = String(end);
    let here = 0;
    let playing = 0;

    // Shows the moment of an entry; the time may lie after it, before the next.
    function show(entry, at = entries[entry].at) {
      rows[here].classList.remove("here");
      unfold(rows[here], rows[entry]);
      here = entry;
      rows[here].classList.add("here");
      const table = find(".scroll");
      const above = rows[here].getBoundingClientRect().top - table.getBoundingClientRect().top;
      table.scrollTop += above - table.clientHeight / 2;
      slider.value = String(at);
      find(".clock").textContent = seconds(at) + " of " + seconds(end);
      for (const cursor of cursors) cursor.setAttribute("x", String((at * 996) / end));
      draw(last(frames, (frame) => frame.entry <= entry));
      const { lane, kind, data, line } = entries[entry];
      find(".what").textContent = "Event " + (entry + 1) + ": " + lane + " " + kind;
      find(".headline").textContent = rows[entry].lastElementChild.textContent;
      status(entry, at);
      find(".entry").textContent = JSON.stringify(data, null, 2);
      const none = records.length ? "Nothing was read yet" : "The CLI printed nothing on stdout";
      find(".which").textContent = line ? "Line " + line + " of stdout, the last that was read" : none;
      find(".record").textContent = line ? records[line - 1] : "";
    }

    // Of a long run, only the events around the one that is shown are unfolded: a table of all takes long to lay out.
    function unfold(before, now) {
      const [closed, open] = [before, now].map((row) => row.closest("details.chunk"));
      if (closed !== open) closed.open = false;
      if (open) open.open = true;
    }

    // What the chat says below the agent's name: a call that was refused, or that the agent is typing.
    function status(entry, at) {
      const call = last(calls, (call) => call <= entry);
      const { kind, data, at: since } = call < 0 ? {} : entries[calls[call]];
      const refused = data && data.answer && data.answer !== "ok";
      const isTyping = kind === "sendChatAction" && at - since < TYPING;
      const node = find(".status");
      node.textContent = refused ? kind + ": " + data.answer : isTyping ? data.action + "…" : "";
      node.classList.toggle("broken", Boolean(refused));
    }

    let drawn;
    function draw(frame) {
      if (frame === drawn) return;
      drawn = frame;
      const chat = find(".chat");
      const { messages: shown, earlier } = frame < 0 ? { messages: [], earlier: 0 } : frames[frame];
      const empty = make("p", "nothing", frames.length ? "nothing to see yet" : "nothing reaches the chat");
      const unseen = earlier === 1 ? "1 earlier message is" : earlier + " earlier messages are";
      const above = earlier ? [make("p", "nothing", unseen + " not shown")] : [];
      const bubbles = shown.map((place) => bubble(messages[place]));
      chat.replaceChildren(...above, ...(bubbles.length ? bubbles : [empty]));
      find(".window").scrollTop = find(".window").scrollHeight;
    }

    function seek(at) {
      show(Math.max(0, last(entries, (entry) => entry.at <= at)), at);
    }

    // Names the moment in the address, so that it can be sent to somebody.
    function name() {
      const run = section.dataset.run === "0" ? "" : "run=" + section.dataset.run + "&";
      history.replaceState(null, "", "#" + run + "t=" + slider.value);
    }

    // The next entry in a lane that is shown.
    function step(by) {
      let to = here + by;
      while (to >= 0 && to < entries.length && hidden.has(entries[to].lane)) to += by;
      if (to >= 0 && to < entries.length) show(to), name();
    }

    function stop() {
      cancelAnimationFrame(playing);
      playing = 0;
      find(".play").textContent = "▶ play";
    }

    function play() {
      if (playing) return stop();
      const from = Number(slider.value) >= end ? 0 : Number(slider.value);
      const began = performance.now();
      find(".play").textContent = "■ stop";
      const tick = (now) => {
        const at = Math.min(end, from + Math.max(0, now - began));
        seek(Math.round(at));
        if (at >= end) stop();
        else playing = requestAnimationFrame(tick);
      };
      playing = requestAnimationFrame(tick);
    }

    function filter() {
      const lanes = new Set(entries.map((entry) => entry.lane));
      for (const lane of ["read", "lifecycle", "bus", "telegram", "session"].filter((lane) => lanes.has(lane))) {
        const label = make("label");
        const box = make("input");
        box.type = "checkbox";
        box.checked = true;
        box.addEventListener("change", () => {
          if (box.checked) hidden.delete(lane);
          else hidden.add(lane);
          for (const row of rows) row.hidden = hidden.has(entries[row.dataset.entry].lane);
        });
        label.append(box, " " + lane);
        find(".lanes").append(label);
      }
    }

    find(".back").addEventListener("click", () => (stop(), step(-1)));
    find(".on").addEventListener("click", () => (stop(), step(1)));
    find(".play").addEventListener("click", play);
    slider.addEventListener("input", () => (stop(), seek(Number(slider.value))));
    slider.addEventListener("change", name);
    find(".scroll").addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-entry]");
      if (row) stop(), show(Number(row.dataset.entry));
    });
    find(".waterfall").addEventListener("click", (event) => {
      const strip = event.target.closest("svg");
      if (!strip) return;
      const box = strip.getBoundingClientRect();
      stop();
      seek(Math.round(((event.clientX - box.left) / box.width) * end));
    });
    section.addEventListener("pointerdown", () => activate(self));
    section.addEventListener("focusin", () => activate(self));
    filter();
    const self = {
      section,
      step: (by) => (stop(), step(by)),
      play,
      seek: (at) => (stop(), seek(Math.min(at, end))),
      first: () => (stop(), show(0)),
      last: () => (stop(), show(entries.length - 1)),
    };
    self.last();
    return self;
  }

  const keys = {
    ArrowRight: () => active.step(1),
    ArrowLeft: () => active.step(-1),
    Home: () => active.first(),
    End: () => active.last(),
    " ": () => active.play(),
  };
  document.addEventListener("keydown", (event) => {
    const modified = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
    const taken = event.key === " " && event.target.closest("button, summary, input[type=checkbox]");
    if (!active || modified || taken || !keys[event.key]) return;
    event.preventDefault();
    follow();
    keys[event.key]();
  });
})();
