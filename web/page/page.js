// The page of scanbox. It runs on the GPU of this browser what the program sends, and sends back what came of it. It
// decides nothing: which kernels run, in which order, on what, and whether a result is right, the program knows.
//
// A message, either way, is one binary frame: the length of a text in bytes (one little-endian word), the text, JSON,
// with spaces behind it up to a multiple of four bytes, then words. Every request gets one answer, in order.
// The other side is crates/scanbox-browser/src/driver.rs.
/** Bytes of a word. */
const WORD = 4;
/** Bytes of the part of the uniform buffer that a dispatch has. */
const SLOT_BYTES = 256;
/** Timestamps of a set: the most that WebGPU allows. */
const QUERIES = 4096;
/** Bytes of a timestamp. */
const STAMP_BYTES = 8;
/** What kernels use where an adapter has it. */
const FEATURES = ["subgroups", "timestamp-query"];
/** What kernels want as much of as there is. */
const LIMITS = [
    "maxBufferSize",
    "maxStorageBufferBindingSize",
    "maxStorageBuffersPerShaderStage",
    "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup",
    "maxComputeWorkgroupSizeX",
    "maxComputeWorkgroupsPerDimension",
];
/** Before the program is looked for again, in milliseconds. */
const PAUSE_MS = 500;
class Failure extends Error {
    kind;
    constructor(kind, message) {
        super(message);
        this.kind = kind;
    }
    said() {
        return { kind: this.kind, words: this.message };
    }
}
function words_of(error) {
    return error instanceof Error ? error.message : String(error);
}
/** What WebGPU says is wrong, under the name that the program has for it. */
function failure_of(error) {
    const kind = error instanceof GPUOutOfMemoryError ? "memory" : error instanceof GPUValidationError ? "invalid" : "internal";
    return new Failure(kind, error.message);
}
/** A device, and what was made of it. */
class Gpu {
    device;
    lost;
    /** An error that nothing has caught. */
    uncaught = null;
    buffers = new Map();
    layouts = new Map();
    pipelines = [];
    queries;
    resolved;
    slots = null;
    readback = null;
    /** What timestamps are rounded to where a test asks, as browsers do. */
    step_ns = 0n;
    static async open(adapter) {
        const requiredLimits = {};
        for (const name of LIMITS) {
            requiredLimits[name] = adapter.limits[name];
        }
        const requiredFeatures = FEATURES.filter(feature => adapter.features.has(feature));
        return new Gpu(await adapter.requestDevice({ label: "scanbox", requiredFeatures, requiredLimits }));
    }
    constructor(device) {
        this.device = device;
        this.lost = device.lost.then(({ reason, message }) => {
            throw new Failure("lost", message || `the device was lost: ${reason}`);
        });
        // Whoever waits hears of it; where nobody does, the next request.
        this.lost.catch(() => { });
        device.onuncapturederror = event => {
            this.uncaught ??= failure_of(event.error);
        };
        const timed = device.features.has("timestamp-query");
        this.queries = timed ? device.createQuerySet({ type: "timestamp", count: QUERIES }) : null;
        const usage = GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC;
        this.resolved = timed ? device.createBuffer({ size: QUERIES * STAMP_BYTES, usage }) : null;
    }
    /** Answers a request. */
    async answer(request, words) {
        const answer = await Promise.race([this.lost, this.act(request, words)]);
        if (this.uncaught) {
            const failure = this.uncaught;
            this.uncaught = null;
            throw failure;
        }
        return answer;
    }
    async act(request, words) {
        for (const key of request.free) {
            this.buffers.get(key)?.destroy();
            this.buffers.delete(key);
        }
        switch (request.op) {
            case "open":
                return {};
            case "buffer": {
                const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
                this.buffers.set(request.key, await this.buffer(request.name, request.bytes, usage));
                return {};
            }
            case "write":
                await this.scoped(() => this.device.queue.writeBuffer(this.held(request.to[0]), request.to[1], words));
                return {};
            case "pipelines":
                return { made: await Promise.all(request.sources.map(source => this.pipeline(source))) };
            case "check":
                return { remarks: await Promise.all(request.texts.map(text => this.remarks(text))) };
            case "round":
                this.step_ns = BigInt(request.step_ns);
                return {};
            case "run":
                return this.run(request, words);
        }
    }
    /** Does something, and throws what WebGPU finds wrong with it: it says nothing by itself. */
    async scoped(act) {
        const filters = ["out-of-memory", "internal", "validation"];
        filters.forEach(filter => this.device.pushErrorScope(filter));
        const outcome = this.attempt(act);
        const found = await Promise.all(filters.map(() => this.device.popErrorScope()));
        // The innermost scope comes first.
        const [validation, internal, memory] = found;
        const error = memory ?? validation ?? internal;
        if (error) {
            throw failure_of(error);
        }
        if ("thrown" in outcome) {
            throw new Failure(outcome.thrown instanceof RangeError ? "memory" : "invalid", words_of(outcome.thrown));
        }
        return outcome.done;
    }
    attempt(act) {
        try {
            return { done: act() };
        }
        catch (thrown) {
            return { thrown };
        }
    }
    buffer(label, size, usage) {
        return this.scoped(() => this.device.createBuffer({ label, size, usage }));
    }
    held(key) {
        const buffer = this.buffers.get(key);
        if (!buffer) {
            throw new Failure("invalid", `there is no buffer ${key}`);
        }
        return buffer;
    }
    /** The layout of words and storage buffers. */
    layout(writes) {
        const name = writes.join();
        let layout = this.layouts.get(name);
        if (!layout) {
            const visibility = GPUShaderStage.COMPUTE;
            const storage = writes.map((write, place) => {
                const buffer = { type: write ? "storage" : "read-only-storage" };
                return { binding: place + 1, visibility, buffer };
            });
            const words = { binding: 0, visibility, buffer: { type: "uniform", hasDynamicOffset: true } };
            layout = this.device.createBindGroupLayout({ entries: [words, ...storage] });
            this.layouts.set(name, layout);
        }
        return layout;
    }
    /** What the compiler says to a shader. */
    async remarks(code) {
        this.device.pushErrorScope("validation");
        const module = this.device.createShaderModule({ code });
        const [info] = await Promise.all([module.getCompilationInfo(), this.device.popErrorScope()]);
        return info.messages.map(({ type, lineNum, message }) => `${type}, line ${lineNum}: ${message}`);
    }
    /** Makes a pipeline: its place, or what is wrong. */
    async pipeline(source) {
        try {
            const making = this.scoped(() => {
                const module = this.device.createShaderModule({ code: source.text });
                const layout = this.layout(source.writes);
                const whole = this.device.createPipelineLayout({ bindGroupLayouts: [layout] });
                return { module, layout, whole };
            });
            // What is wrong with a shader is wrong where it is made.
            const { module, layout, whole } = await making.catch(error => {
                throw error instanceof Failure && error.kind === "invalid" ? new Failure("shader", error.message) : error;
            });
            const compiling = this.device.createComputePipelineAsync({ layout: whole, compute: { module, entryPoint: "main" } });
            const raw = await compiling.catch(error => {
                throw new Failure("shader", words_of(error));
            });
            this.pipelines.push({ raw, layout, bindings: source.writes.length });
            return { pipeline: this.pipelines.length - 1 };
        }
        catch (error) {
            return { failed: (error instanceof Failure ? error : new Failure("internal", words_of(error))).said() };
        }
    }
    /** Sees to room for slots and for what is fetched. */
    async reserve(slots, fetched) {
        const { UNIFORM, COPY_DST, MAP_READ } = GPUBufferUsage;
        const room = (bytes) => 2 ** Math.ceil(Math.log2(Math.max(bytes, SLOT_BYTES)));
        if (!this.slots || this.slots.size < slots) {
            this.slots?.destroy();
            this.slots = null;
            this.slots = await this.buffer("slots", room(slots), UNIFORM | COPY_DST);
        }
        if (!this.readback || this.readback.size < fetched) {
            this.readback?.destroy();
            this.readback = null;
            this.readback = await this.buffer("readback", room(fetched), MAP_READ | COPY_DST);
        }
    }
    /** Submits work, and waits for it. */
    async run(work, words) {
        let dispatched = 0;
        let timed = 0;
        let fetched = 0;
        for (const step of work.steps) {
            if ("pass" in step) {
                dispatched += step.pass.length;
                timed += step.timed ? 1 : 0;
            }
            else if ("fetch" in step) {
                fetched += step.fetch[2];
            }
        }
        const stamps = this.queries ? 2 * timed : 0;
        const bytes = fetched + stamps * STAMP_BYTES;
        await this.reserve(dispatched * SLOT_BYTES, bytes);
        const { slots, readback } = this;
        if (!slots || !readback) {
            throw new Failure("internal", "there is no memory for slots");
        }
        const begin = performance.now();
        await this.scoped(() => this.submit(work, words, slots, readback, fetched, stamps));
        await (bytes > 0 ? readback.mapAsync(GPUMapMode.READ, 0, bytes) : this.device.queue.onSubmittedWorkDone());
        const took_ms = performance.now() - begin;
        if (bytes === 0) {
            return { took_ms };
        }
        const read = new Uint32Array(readback.getMappedRange(0, bytes).slice(0));
        readback.unmap();
        return { took_ms, words: this.step_ns > 0n ? [this.rounded(read, stamps), read] : [read] };
    }
    /** A copy whose timestamps, which stand at its end, are rounded. */
    rounded(read, stamps) {
        const copy = read.slice();
        const view = new DataView(copy.buffer, copy.byteLength - stamps * STAMP_BYTES);
        for (let at = 0; at < view.byteLength; at += STAMP_BYTES) {
            const stamp = view.getBigUint64(at, true);
            view.setBigUint64(at, stamp - (stamp % this.step_ns), true);
        }
        return copy;
    }
    submit(work, words, slots, readback, fetched, stamps) {
        const { device } = this;
        let first = 0;
        for (const [key, offset, bytes] of work.writes) {
            device.queue.writeBuffer(this.held(key), offset, words, first, bytes / WORD);
            first += bytes / WORD;
        }
        if (first < words.length) {
            device.queue.writeBuffer(slots, 0, words, first);
        }
        const bound = work.dispatches.map(dispatch => this.bind(dispatch, slots));
        const encoder = device.createCommandEncoder();
        let [slot, query, place] = [0, 0, 0];
        for (const step of work.steps) {
            if ("clear" in step) {
                const [key, offset, bytes] = step.clear;
                encoder.clearBuffer(this.held(key), offset, bytes);
            }
            else if ("copy" in step) {
                const [key, offset, bytes] = step.copy;
                encoder.copyBufferToBuffer(this.held(key), offset, this.held(step.to[0]), step.to[1], bytes);
            }
            else if ("fetch" in step) {
                const [key, offset, bytes] = step.fetch;
                encoder.copyBufferToBuffer(this.held(key), offset, readback, place, bytes);
                place += bytes;
            }
            else {
                const pass = encoder.beginComputePass(this.timing(step.timed, query));
                query += step.timed ? 2 : 0;
                let current = null;
                for (const which of step.pass) {
                    const { pipeline, group, groups } = bound[which];
                    if (pipeline !== current) {
                        pass.setPipeline(pipeline);
                        current = pipeline;
                    }
                    pass.setBindGroup(0, group, [slot * SLOT_BYTES]);
                    pass.dispatchWorkgroups(groups[0], groups[1]);
                    slot += 1;
                }
                pass.end();
            }
        }
        if (this.queries && this.resolved && stamps > 0) {
            encoder.resolveQuerySet(this.queries, 0, stamps, this.resolved, 0);
            encoder.copyBufferToBuffer(this.resolved, 0, readback, fetched, stamps * STAMP_BYTES);
        }
        device.queue.submit([encoder.finish()]);
    }
    timing(timed, query) {
        if (!timed || !this.queries) {
            return {};
        }
        const [beginningOfPassWriteIndex, endOfPassWriteIndex] = [query, query + 1];
        return { timestampWrites: { querySet: this.queries, beginningOfPassWriteIndex, endOfPassWriteIndex } };
    }
    bind(dispatch, slots) {
        const pipeline = this.pipelines[dispatch.pipeline];
        if (!pipeline) {
            throw new Failure("invalid", `there is no pipeline ${dispatch.pipeline}`);
        }
        const storage = dispatch.bindings.slice(0, pipeline.bindings).map(([key, offset, size], place) => {
            return { binding: place + 1, resource: { buffer: this.held(key), offset, size } };
        });
        const words = { binding: 0, resource: { buffer: slots, offset: 0, size: SLOT_BYTES } };
        const group = this.device.createBindGroup({ layout: pipeline.layout, entries: [words, ...storage] });
        return { pipeline: pipeline.raw, group, groups: dispatch.groups };
    }
}
/** Members of an object of the browser that are numbers, texts or truths: what they are called depends on the browser. */
function members(of) {
    const plain = {};
    for (const name in of) {
        const value = of[name];
        if (["number", "string", "boolean"].includes(typeof value)) {
            plain[name] = value;
        }
    }
    return plain;
}
/** Who this is: the first word of the page. */
async function hello(adapter, why) {
    const data = navigator.userAgentData;
    const brands = (await data?.getHighEntropyValues(["fullVersionList"]))?.fullVersionList ?? [];
    const found = adapter && {
        info: members(adapter.info),
        limits: members(adapter.limits),
        features: [...adapter.features],
    };
    return { agent: navigator.userAgent, brands, adapter: found, why };
}
async function find_adapter() {
    if (!("gpu" in navigator)) {
        return [null, "this browser has no WebGPU, or not for a page of this address"];
    }
    try {
        const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
        return [adapter, adapter ? "" : "WebGPU of this browser finds no adapter"];
    }
    catch (error) {
        return [null, words_of(error)];
    }
}
function encode({ words = [], ...rest }) {
    const text = new TextEncoder().encode(JSON.stringify(rest));
    const padded = new Uint8Array(Math.ceil(text.length / WORD) * WORD).fill(0x20);
    padded.set(text);
    return new Blob([new Uint32Array([padded.length]), padded, ...words]);
}
function decode(message) {
    const length = new DataView(message).getUint32(0, true);
    const text = new TextDecoder().decode(new Uint8Array(message, WORD, length));
    return [JSON.parse(text), new Uint32Array(message, WORD + length)];
}
function show(where, text) {
    const element = document.getElementById(where);
    if (element) {
        element.textContent = text;
    }
}
/** The program has ended, or goes on with another process: its page is loaded anew where it is there again. */
async function wait_for_program() {
    show("state", "scanbox is not there any more; this page waits for it");
    for (;;) {
        await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
        const found = await fetch(location.href, { cache: "no-store" }).catch(() => null);
        if (found?.ok) {
            location.reload();
        }
    }
}
async function main() {
    const [adapter, why] = await find_adapter();
    const first = await hello(adapter, why);
    show("device", adapter ? adapter.info.description || `${adapter.info.vendor} ${adapter.info.architecture}` : why);
    const address = new URL("socket", location.href.replace(/^http/, "ws"));
    address.search = location.search;
    address.searchParams.set("version", document.documentElement.dataset["version"] ?? "");
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    let gpu = null;
    let refused = false;
    let count = 0;
    const answer = async (message) => {
        const [request, words] = decode(message);
        if (request.refused !== undefined) {
            refused = true;
            show("state", request.refused);
            return {};
        }
        if (request.op === "open" && adapter) {
            gpu = await Gpu.open(adapter);
            show("state", "at work");
        }
        if (!gpu) {
            throw new Failure("lost", why || "no device is open");
        }
        show("count", String((count += 1)));
        return gpu.answer(request, words);
    };
    let before = Promise.resolve();
    socket.onopen = () => {
        show("state", "connected");
        socket.send(encode(first));
    };
    socket.onmessage = event => {
        // One after the other, in order.
        before = before.then(async () => {
            const done = await answer(event.data).catch((error) => {
                const failure = error instanceof Failure ? error : new Failure("internal", words_of(error));
                return { failed: failure.said() };
            });
            if (!refused) {
                socket.send(encode(done));
            }
        });
    };
    socket.onclose = () => {
        if (!refused) {
            void wait_for_program();
        }
    };
}
void main().catch(error => show("state", words_of(error)));
export {};
