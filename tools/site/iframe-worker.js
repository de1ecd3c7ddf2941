// A browser starts no worker from a file. The search of the site gets a hidden
// frame in its place, when a page is read without a server.
if (location.protocol === "file:") {
	window.Worker = class extends EventTarget {
		constructor(url) {
			super();
			this.frame = document.createElement("iframe");
			this.frame.hidden = true;
			document.body.append(this.frame);
			const inner = this.frame.contentWindow;
			addEventListener("message", event => {
				if (event.source === inner)
					this.dispatchEvent(
						new MessageEvent("message", { data: event.data }));
			});
			inner.document.open();
			inner.document.write(
				"<body><script>postMessage = data => parent.postMessage(data, \"*\")" +
				"</" + "script><script src=\"" + url + "\"></" + "script>");
			inner.document.close();
			this.loaded = new Promise(done => { inner.onload = done; });
		}
		postMessage(data) {
			this.loaded.then(() => this.frame.contentWindow.dispatchEvent(
				new MessageEvent("message", { data })));
		}
		terminate() { this.frame.remove(); }
		set onmessage(call) { this.addEventListener("message", call); }
	};
}
