/** The server's form: what is edited is asked for, and replaces the page's contents. */

const WAIT_MS = 400;

/** Ask when a field has changed.  replaced: what to do with the new contents. */
export function edit(page: HTMLElement, replaced: () => void): void {
  const form = document.querySelector<HTMLFormElement>("form#edit");
  if (!form) return;
  let timer: number | undefined;
  let asked = new AbortController();
  const status = form.querySelector("output")!;
  const ask = async () => {
    asked.abort();
    asked = new AbortController();
    const query = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    const url = `?${query}${location.hash}`;
    status.textContent = "Looking ...";
    page.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`?${query}`, { signal: asked.signal });
      const found = new DOMParser().parseFromString(await answer.text(), "text/html");
      const contents = found.querySelector("main");
      if (!contents) throw new Error(found.body.textContent ?? "");
      page.replaceChildren(...contents.childNodes);
      document.title = found.title;
      history.replaceState(null, "", url);
      status.textContent = "";
      replaced();
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      status.textContent = error instanceof Error && error.message ? error.message : "the server does not answer";
    }
    page.removeAttribute("aria-busy");
  };
  const soon = (ms: number) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void ask(), ms);
  };
  form.addEventListener("input", () => soon(WAIT_MS));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    soon(0);
  });
}
