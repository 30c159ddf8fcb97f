// Brings a page up to date from the server's events. Without it the page is complete as it was loaded.
"use strict";
(() => {
  const from = document.body.dataset.live;
  const pulse = document.getElementById("pulse");
  const hold = document.getElementById("hold");
  if (!from || !pulse || !hold || !window.EventSource) return;

  let held = false;
  let source = null;
  let retry = 2000;

  const say = (text) => { pulse.textContent = text; };
  const clock = () => new Date().toISOString().slice(11, 19);

  // replace puts the parts of what came in the place of those that are there, but for one that somebody is using.
  const replace = (html) => {
    const came = new DOMParser().parseFromString(html, "text/html");
    for (const part of came.querySelectorAll("[data-part]")) {
      const old = document.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
      if (!old || old.isEqualNode(part)) continue;
      const focus = document.activeElement;
      if (focus && old.contains(focus) && !focus.matches(".scroll")) continue;
      const marked = window.getSelection();
      if (marked && !marked.isCollapsed && old.contains(marked.anchorNode)) continue;
      const scrolled = [...old.querySelectorAll(".scroll")].map((s) => [s.scrollLeft, s === focus]);
      const fresh = document.importNode(part, true);
      old.replaceWith(fresh);
      fresh.querySelectorAll(".scroll").forEach((s, i) => {
        if (!scrolled[i]) return;
        s.scrollLeft = scrolled[i][0];
        if (scrolled[i][1]) s.focus({ preventScroll: true });
      });
    }
  };

  const close = () => { if (source) source.close(); source = null; };

  const open = () => {
    if (source || held || document.hidden) return;
    source = new EventSource(from);
    source.addEventListener("hello", () => { retry = 2000; say("live"); });
    source.addEventListener("news", (e) => { replace(e.data); say("live, " + clock() + " UTC"); });
    source.addEventListener("same", () => say("live, " + clock() + " UTC"));
    source.addEventListener("failed", (e) => say("not up to date: " + e.data));
    source.addEventListener("ended", () => { close(); held = true; say("your log-in has ended"); });
    source.onerror = () => {
      close();
      say("not up to date: no connection");
      setTimeout(open, retry);
      retry = Math.min(retry * 2, 60000);
    };
  };

  hold.hidden = false;
  hold.addEventListener("click", () => {
    held = !held;
    hold.setAttribute("aria-pressed", String(held));
    if (held) { close(); say("held still since " + clock() + " UTC"); } else open();
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  window.addEventListener("pagehide", close);
  open();
})();
