/** What the studio's pages do beyond plain forms: the dial moves figures, releases tell how far they are, files are
 * sent as they are, and a page that is open says so. All of it is asked of this server and of no other. */

const POLL = 400; // milliseconds

function parsed(text: string): Document {
  return new DOMParser().parseFromString(text, "text/html");
}

// ---------------------------------------------------------------- the dial

function dial(): void {
  const slider = document.getElementById("at");
  const figures = document.getElementById("figures");
  const value = document.getElementById("dial-value");
  if (!(slider instanceof HTMLInputElement) || figures === null || value === null) return;
  const places = (slider.dataset["places"] ?? "").split(",");
  const known = new Map<string, string>();
  let asked = "";

  const draw = (text: string): void => {
    figures.replaceChildren(...parsed(text).body.childNodes);
    figures.dataset["at"] = asked;
  };
  const move = async (): Promise<void> => {
    const at = slider.value;
    asked = at;
    const place = places[Number(at)] ?? "";
    value.textContent = place;
    slider.setAttribute("aria-valuetext", `${slider.dataset["promise"] ?? ""} = ${place}`);
    const seen = known.get(at);
    if (seen !== undefined) return draw(seen);
    try {
      const answer = await fetch(`/publish/dial/figures?at=${at}`, { cache: "no-store" });
      if (!answer.ok) return;
      const text = await answer.text();
      const later = answer.status === 202; // it is still worked out
      if (!later) known.set(at, text);
      if (asked !== at) return; // a later movement has its own answer
      if (!later || figures.dataset["at"] !== at) draw(text);
      if (later) setTimeout(() => void (asked === at && move()), POLL);
    } catch {
      // the server is away: what is shown stays
    }
  };
  slider.addEventListener("input", () => void move());
  // Moved before this script was there, or by a browser that restores forms: no event will come for it.
  if (slider.value !== slider.defaultValue) void move();
}

// ---------------------------------------------------------------- work under way

async function follow(): Promise<void> {
  const old = document.getElementById("status");
  const address = old?.dataset["poll"];
  if (old === null || address === undefined) return;
  try {
    const answer = await fetch(address, { cache: "no-store" });
    const fresh = parsed(await answer.text()).getElementById("status");
    if (answer.ok && fresh !== null) {
      if (fresh.dataset["then"] !== undefined) return location.assign(fresh.dataset["then"]);
      const focused = old.contains(document.activeElement);
      old.replaceWith(fresh);
      if (focused) fresh.querySelector("button")?.focus();
    }
  } catch {
    // asked again below
  }
  setTimeout(() => void follow(), POLL);
}

// ---------------------------------------------------------------- files

async function send(file: File, zone: HTMLElement, status: HTMLElement): Promise<void> {
  status.textContent = `Sending ${file.name} …`;
  try {
    const answer = await fetch(zone.dataset["to"] ?? "", {
      method: "POST",
      body: file,
      cache: "no-store",
      headers: {
        "content-type": "application/octet-stream",
        "x-file-name": encodeURIComponent(file.name),
        "x-form-token": zone.dataset["token"] ?? "",
      },
    });
    const told = (await answer.json()) as { to?: string; problem?: string };
    if (told.to !== undefined) return location.assign(told.to);
    status.textContent = told.problem ?? "It was not taken.";
  } catch {
    status.textContent = "It could not be sent. It may be too large: put it into the studio's folder instead.";
  }
}

function uploads(): void {
  const zone = document.getElementById("drop");
  const chooser = document.getElementById("upload");
  const status = document.getElementById("upload-status");
  if (zone === null || status === null || !(chooser instanceof HTMLInputElement)) return;
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (file !== undefined) void send(file, zone, status);
  };
  chooser.addEventListener("change", () => take(chooser.files));
  take(chooser.files); // chosen before this script was there
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    take(event.dataTransfer?.files);
  });
}

// ---------------------------------------------------------------- a page is open

/** Work that takes a moment: the button says so, and is not pressed twice. */
function patience(): void {
  for (const form of document.querySelectorAll("form")) {
    form.addEventListener("submit", () => {
      document.body.setAttribute("aria-busy", "true");
      document.body.classList.add("busy");
    });
  }
  window.addEventListener("pageshow", () => {
    document.body.removeAttribute("aria-busy");
    document.body.classList.remove("busy");
  });
}

dial();
uploads();
patience();
void follow();
new EventSource("/alive");

export {};
