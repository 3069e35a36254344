/** Texts near the beginning of a JSON object, by their path, without parsing the rest: values may have megabytes. */

/** Bytes that are looked at. Kubernetes writes its own fields first, or in order of names. */
const MAX_HEAD_BYTES = 64 * 1024;

/** `paths` are "name" or "outer.name". Stops at the first thing that is no JSON, and at the bound. */
export function readJsonHead(value: Buffer, paths: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  const json = value.toString('utf8', 0, MAX_HEAD_BYTES);
  const tokens = /\s*(?:("(?:[^"\\]|\\.)*")|([{}[\],:])|([^\s"{}[\],:]+))/gy;
  const outer: string[] = [];
  let name: string | undefined;
  let isName = false;
  let arrays = 0;
  for (let token = tokens.exec(json); token !== null; token = tokens.exec(json)) {
    const [, quoted, mark] = token;
    if (mark === '{') {
      outer.push(name ?? '');
      isName = arrays === 0;
      name = undefined;
    } else if (mark === '}') {
      outer.pop();
      if (outer.length === 0) break;
      isName = false;
    } else if (mark === '[') arrays += 1;
    else if (mark === ']') arrays -= 1;
    else if (mark === ',') isName = arrays === 0;
    else if (mark === ':') isName = false;
    else if (quoted !== undefined && arrays === 0) {
      if (isName) name = unquote(quoted);
      else if (name !== undefined) {
        const path = [...outer.slice(1), name].join('.');
        if (paths.includes(path) && !found.has(path)) found.set(path, unquote(quoted));
        if (found.size === paths.length) break;
      }
    }
  }
  return found;
}

function unquote(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return '';
  }
}
