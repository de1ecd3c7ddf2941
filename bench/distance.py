"""A proxy on loopback that puts a server far away: half of the round trip each
way, however much is sent."""

import asyncio
import contextlib
import threading

CHUNK = 65536


class Distance:
    def __init__(self, port, seconds):
        self.target, self.half = port, seconds / 2
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.ready = threading.Event()

    def __enter__(self):
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def serve(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(
            asyncio.start_server(self.link, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.run_until_complete(
            asyncio.gather(*left, return_exceptions=True))
        self.loop.close()

    async def link(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection(
            "127.0.0.1", self.target)
        await asyncio.gather(self.pass_on(reader, far_writer),
                             self.pass_on(far_reader, writer))

    async def pass_on(self, reader, writer):
        """Each piece leaves when its time has come, in order."""
        way = asyncio.Queue()

        async def arrive():
            with contextlib.suppress(ConnectionError):
                while data := await reader.read(CHUNK):
                    way.put_nowait((self.loop.time() + self.half, data))
            way.put_nowait((self.loop.time() + self.half, b""))

        arriving = asyncio.create_task(arrive())
        with contextlib.suppress(ConnectionError):
            while True:
                due, data = await way.get()
                await asyncio.sleep(due - self.loop.time())
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        arriving.cancel()
        with contextlib.suppress(ConnectionError):
            writer.close()
