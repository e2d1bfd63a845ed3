import { loadCases } from "../support/cases.ts";
import type { Direction } from "./model.ts";

const META = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1}';
const TOOL = '{"name":"safe_tool","description":"d","inputSchema":{"type":"object"}}';
const HIDDEN = '{"name":"denied_tool","inputSchema":{"type":"object"}}';

/** Messages as good peers send them. */
const GOOD: Record<Direction, readonly string[]> = {
  up: [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"two"}}',
    `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{${META},"name":"safe_tool","arguments":{}}}`,
    `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{${META},"name":"denied_tool","arguments":{}}}`,
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe_tool","arguments":{"path":"/a/b","list":[1,2.5,-3e2,true,null,"é€😀"],"deep":{"x":{"y":[{},[]]}}}}}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"denied_tool","arguments":{}}}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"denied_tool_2","arguments":{"rows":[{"a":1,"b":2,"c":3},{"a":1,"b":2,"c":3},{"a":1,"c":3,"b":2}]}}}',
    '{ "method" : "tools/call" , "params" : { "arguments" : { } , "name" : "safe_tool" } , "id" : 4 , "jsonrpc" : "2.0" }',
    '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///data/a.txt"}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}',
    '{"jsonrpc":"2.0","id":3,"result":{"model":"m","role":"assistant","content":{"type":"text","text":"t"}}}',
    '{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}',
    '{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}',
    '{"jsonrpc":"2.0","id":1,"method":"vendor/custom","params":{"x":1}}',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"denied_tool"}},{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"safe_tool"}}]',
  ],
  down: [
    `{"jsonrpc":"2.0","id":7,"result":{"tools":[${TOOL},${HIDDEN}],"nextCursor":"two","_meta":{}}}`,
    `{"jsonrpc":"2.0","id":7,"result":{"nextCursor":"","tools":[ ${HIDDEN} , ${TOOL} , ${HIDDEN} ]}}`,
    `{"jsonrpc":"2.0","id":1,"result":{"tools":[${HIDDEN},${TOOL}]}}`,
    `{"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"é€😀 denied_tool"}],"isError":false}}`,
    '{"jsonrpc":"2.0","id":5,"result":{}}',
    '{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"denied_tool"}}',
    '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}}}}',
    '{"jsonrpc":"2.0","id":11,"result":{"taskId":"t1","status":"working"}}',
    '{"jsonrpc":"2.0","id":3,"method":"ping"}',
    '{"jsonrpc":"2.0","id":12,"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object"}}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":[1,2,3]}}}',
    '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
    `[{"jsonrpc":"2.0","id":5,"result":{}},{"jsonrpc":"2.0","id":7,"result":{"tools":[${HIDDEN}]}},{"jsonrpc":"2.0","method":"notifications/message","params":{}}]`,
  ],
};

/** What mutants are made of: the cases that are lines or bodies, and good messages. */
export function loadCorpus(): Record<Direction, readonly Buffer[]> {
  const small = loadCases().filter(
    ({ transport, bytes }) => transport !== "sse" && bytes.length > 0 && bytes.length <= MAX_SEED_BYTES,
  );
  const of = (way: "c2s" | "s2c", good: readonly string[]): Buffer[] => [
    ...small.filter(({ direction }) => direction === way).map(({ bytes }) => bytes),
    // As often as the cases: what is near to good goes furthest.
    ...[...good, ...good, ...good].map((text) => Buffer.from(text)),
  ];
  return { up: of("c2s", GOOD.up), down: of("s2c", GOOD.down) };
}

const MAX_SEED_BYTES = 2000;
