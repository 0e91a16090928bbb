// The foveal plugin for OpenCode: tells foveal what happens in a session and adds what it answers to the prompt.
// Installed by `foveal hooks install opencode`, removed by `foveal hooks uninstall opencode`.
//
// Each event starts `foveal hook opencode` with one JSON object on its standard input, in the form that Claude
// Code's hooks have; what it prints as hookSpecificOutput.additionalContext is meant for the model. Whatever
// goes wrong costs nothing but the context: a hook that throws would block the session, so nothing here does.

import { spawn } from "node:child_process"
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const PROGRAM = "foveal"
const SEARCHING = new Set(["grep", "glob", "bash", "read"])
const START_MS = 5000
const PROMPT_MS = 3000
const MAX_OUTPUT = 1 << 20
const MAX_TEXT = 20_000
const UNUSED = new Set(["diff", "diffs", "filediff", "display", "preview", "diagnostics", "tokens"])
const KEPT_MS = 30 * 24 * 3600 * 1000

/** Run foveal for one event; resolves to the text for the model, "" where there is none. */
function ask(payload, milliseconds) {
  return new Promise((resolve) => {
    let output = ""
    let child
    const finish = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    const timer = setTimeout(() => {
      child?.kill("SIGKILL")
      finish("")
    }, milliseconds)
    try {
      child = spawn(PROGRAM, ["hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
      child.on("error", () => finish(""))
      child.stdin.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (piece) => {
        if (output.length < MAX_OUTPUT) output += piece
      })
      child.on("close", () => finish(contextOf(output)))
      child.stdin.end(JSON.stringify(payload))
    } catch {
      finish("")
    }
  })
}

function contextOf(output) {
  try {
    const text = JSON.parse(output)?.hookSpecificOutput?.additionalContext
    return typeof text === "string" ? text : ""
  } catch {
    return ""
  }
}

function promptOf(parts) {
  const texts = (parts ?? []).filter((part) => part?.type === "text" && !part.synthetic)
  return texts.map((part) => part.text ?? "").join("\n")
}

/**
 * A part with a context for the message that `beside` is in.
 *
 * OpenCode keeps it with the message, so that it is there in later turns and when the session is resumed.
 * It is ignored there, and so in the request for a title; only the agent's own requests show it.
 */
function partOf(text, beside) {
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  const random = Array.from({ length: 12 }, () => letters[Math.floor(Math.random() * letters.length)])
  // Parts stand in the order of their ids: after the time in the prompt's own id, the highest letters.
  const id = `${beside.id.slice(0, 16)}zz${random.join("")}`
  const { messageID, sessionID } = beside
  return { id, messageID, sessionID, type: "text", synthetic: true, ignored: true, metadata: { foveal: true }, text }
}

function transcriptFolder() {
  const state = process.env.XDG_STATE_HOME || join(homedir(), ".local", "state")
  return join(process.env.FOVEAL_STATE_DIR || join(state, "foveal"), "opencode")
}

/** Cut the middle out of a long text, such as a tool's output. */
function short(text) {
  const half = MAX_TEXT / 2
  return text.length > MAX_TEXT ? `${text.slice(0, half)}\n[…]\n${text.slice(-half)}` : text
}

/**
 * Add the finished messages that a session's transcript lacks, one `{info, parts}` a line: the host keeps its
 * conversations in a database of its own. Resolves to the file, "" where that fails.
 */
async function record(client, session, parent) {
  try {
    const folder = transcriptFolder()
    const file = join(folder, `${session.replace(/[^\w-]/g, "_")}.jsonl`)
    const { data } = await client.session.messages({ path: { id: session } })
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const text = existsSync(file) ? readFileSync(file, "utf8") : ""
    const known = new Set(text.split("\n").filter(Boolean).map((line) => JSON.parse(line).info.id))
    const added = (data ?? []).filter(
      ({ info }) => !known.has(info.id) && (info.role === "user" || info.time?.completed || info.error),
    )
    const useful = (key, value) =>
      UNUSED.has(key) ? undefined : typeof value === "string" ? short(value) : value
    const lines = added.map(({ info, parts }) => {
      const said = parts.filter((part) => !part.synthetic && !part.ignored)
      return JSON.stringify({ info, parts: said, ...(parent ? { parent } : {}) }, useful)
    })
    if (lines.length) appendFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 })
    return file
  } catch {
    return ""
  }
}

/** Delete transcripts that nobody continued for a month. */
function prune() {
  try {
    for (const name of readdirSync(transcriptFolder())) {
      const file = join(transcriptFolder(), name)
      if (Date.now() - statSync(file).mtimeMs > KEPT_MS) rmSync(file)
    }
  } catch {
    // there are none yet
  }
}

export const FovealPlugin = async ({ client, directory }) => {
  const started = new Map() // session -> the text for its start, until the next message takes it
  const parents = new Map() // subagent's session -> the session that started it
  const unasked = new Set() // subagents' sessions whose task hasn't come yet
  const asked = new Set() // sessions that got a prompt

  const tell = (name, session, more = {}, milliseconds = PROMPT_MS) => {
    const parent = parents.get(session)
    const common = { hook_event_name: name, session_id: session, cwd: directory }
    return ask({ ...common, ...(parent ? { parent_session_id: parent } : {}), ...more }, milliseconds)
  }

  const stop = async (session) => {
    const parent = parents.get(session)
    const path = await record(client, session, parent)
    const [name, field] = parent ? ["SubagentStop", "agent_transcript_path"] : ["Stop", "transcript_path"]
    await tell(name, session, path ? { [field]: path } : {})
  }

  const begin = (session, source) => {
    if (!parents.has(session)) started.set(session, tell("SessionStart", session, { source }, START_MS))
  }

  const forget = (session) => {
    for (const known of [started, parents, unasked, asked]) known.delete(session)
  }

  const handlers = {
    "session.created": ({ info }) => {
      if (!info?.id) return
      if (info.parentID) {
        parents.set(info.id, info.parentID)
        unasked.add(info.id)
      }
      begin(info.id, "startup")
    },
    "session.compacted": ({ sessionID }) => sessionID && begin(sessionID, "compact"),
    "session.idle": ({ sessionID }) => sessionID && stop(sessionID),
    "session.deleted": ({ info }) => {
      if (!info?.id) return
      void tell("SessionEnd", info.id, { reason: "other" })
      forget(info.id)
    },
    "file.edited": ({ file }) =>
      file && void tell("PostToolUse", "", { tool_name: "Edit", tool_input: { file_path: file } }),
  }

  prune()
  return {
    dispose: async () => {
      await Promise.all([...asked].map((session) => tell("SessionEnd", session, { reason: "other" })))
    },
    event: async ({ event }) => {
      try {
        await handlers[event?.type]?.(event.properties ?? {})
      } catch {
        // an event of another shape than expected says nothing
      }
    },
    "chat.message": async (input, output) => {
      try {
        const session = input?.sessionID ?? output?.message?.sessionID
        const prompt = promptOf(output?.parts)
        if (!session || !prompt) return
        if (!parents.has(session)) asked.add(session)
        const atStart = await started.get(session)
        started.delete(session)
        const name = unasked.delete(session) ? "SubagentStart" : "UserPromptSubmit"
        const forPrompt = await tell(name, session, { prompt })
        const last = output.parts[output.parts.length - 1]
        for (const text of [atStart, forPrompt].filter(Boolean)) output.parts.push(partOf(text, last))
      } catch {
        // the prompt goes on without context
      }
    },
    "tool.execute.after": async (input, output) => {
      try {
        if (!SEARCHING.has(input?.tool) || typeof output?.output !== "string") return
        const call = { tool_name: input.tool, tool_input: input.args ?? {}, tool_use_id: input.callID }
        const text = await tell("PostToolUse", input.sessionID, { ...call, tool_response: output.output })
        if (text) output.output += `\n\n${text}`
      } catch {
        // as above
      }
    },
    "experimental.chat.messages.transform": async (input, output) => {
      const shown = (part) => (part?.metadata?.foveal ? { ...part, ignored: false } : part)
      for (const message of Array.isArray(output?.messages) ? output.messages : [])
        if (message?.parts?.some((part) => part?.metadata?.foveal)) message.parts = message.parts.map(shown)
    },
    "experimental.session.compacting": async (input, output) => {
      try {
        if (!input?.sessionID) return
        const text = await tell("PreCompact", input.sessionID, { trigger: "auto" })
        if (text && Array.isArray(output?.context)) output.context.push(text)
      } catch {
        // as above
      }
    },
  }
}
