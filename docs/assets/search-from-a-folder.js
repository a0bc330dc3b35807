// Browsers start no worker from a file. Where the pages are opened from a folder, the search runs in a hidden frame
// instead: it has the words of a worker (postMessage, messages), and nothing leaves the page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>search</title>";
      this.frame = frame;
      this.ready = new Promise((resolve, reject) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => {
            const event = new MessageEvent("message", { data });
            this.onmessage?.(event);
            this.dispatchEvent(event);
          };
          const script = inside.document.createElement("script");
          script.src = new URL(url, location.href).href;
          script.onload = () => resolve(inside);
          script.onerror = () => reject(new Error("the search could not be loaded"));
          inside.document.head.append(script);
        };
      });
      this.ready.catch((error) => this.onerror?.(error));
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })), () => {});
    }

    terminate() {
      this.frame.remove();
    }
  };
}
