// Package tool tells what a coding agent's tool call did, whatever the agent calls its tools:
// the class of work, the files, the command and how it ended.
package tool

import (
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// classes lists the tools of the agents that we know, by class. Names are exact.
var classes = map[eventv1.ToolClass][]string{
	eventv1.ToolClass_TOOL_CLASS_READ: {
		"Read", "NotebookRead", "ReadMcpResourceTool",
		"fs_read", "fsRead", "readFile", "readFiles", "readMultipleFiles", "readCode", "read_file", "read_code", "read", "get_diagnostics", "getDiagnostics", "readDiagnostics",
	},
	eventv1.ToolClass_TOOL_CLASS_EDIT: {
		"Edit", "MultiEdit", "NotebookEdit",
		"strReplace", "str_replace", "editCode", "edit_code", "fsAppend", "fs_append", "appendFile", "append_file", "apply_patch", "edit", "semanticRename", "smartRelocate",
	},
	eventv1.ToolClass_TOOL_CLASS_WRITE: {
		"Write",
		"fs_write", "fsWrite", "writeFile", "write_file", "createFile", "create_file", "deleteFile", "delete_file", "write",
	},
	eventv1.ToolClass_TOOL_CLASS_SEARCH: {
		"Grep", "Glob", "LS", "LSP", "ToolSearch",
		"grep", "glob", "grepSearch", "grep_search", "fileSearch", "file_search", "listDirectory", "list_directory", "code", "codeSearch", "knowledge", "search",
	},
	eventv1.ToolClass_TOOL_CLASS_SHELL: {
		"Bash", "BashOutput", "KillShell", "KillBash", "PowerShell",
		"execute_bash", "executeBash", "execute_cmd", "executePwsh", "execute_pwsh", "executeCommand", "execute_command", "controlBashProcess", "control_bash_process",
		"controlPwshProcess", "getProcessOutput", "get_process_output", "listProcesses", "startProcess", "stopProcess", "shell", "use_aws",
	},
	eventv1.ToolClass_TOOL_CLASS_WEB: {
		"WebFetch", "WebSearch",
		"web_fetch", "webFetch", "web_search", "webSearch", "remote_web_search", "remoteWebSearch", "fetch",
	},
	eventv1.ToolClass_TOOL_CLASS_AGENT: {
		"Task", "Agent", "TaskOutput", "AgentOutputTool",
		"subagent", "use_subagent", "invokeSubAgent", "invoke_sub_agent", "delegate",
	},
}

var classByName = invert(classes)

func invert(lists map[eventv1.ToolClass][]string) map[string]eventv1.ToolClass {
	byName := map[string]eventv1.ToolClass{}
	for class, names := range lists {
		for _, name := range names {
			byName[name] = class
		}
	}
	return byName
}

// ClassOf returns the class of a tool by its name alone. A name that nobody knows is OTHER, no
// name at all UNSPECIFIED.
func ClassOf(name string) eventv1.ToolClass {
	if class, ok := classByName[name]; ok {
		return class
	}
	switch {
	case name == "":
		return eventv1.ToolClass_TOOL_CLASS_UNSPECIFIED
	case IsMCP(name):
		return eventv1.ToolClass_TOOL_CLASS_MCP
	}
	return eventv1.ToolClass_TOOL_CLASS_OTHER
}

// IsMCP reports whether the name is that of an MCP server's tool: "mcp__server__tool",
// "mcp_server_tool" or "@server/tool".
func IsMCP(name string) bool {
	return strings.HasPrefix(name, "mcp_") ||
		strings.HasPrefix(name, "@") && strings.Contains(name, "/") && !strings.HasPrefix(name, "@builtin/")
}

// MCPServer returns the server's part of an MCP tool's name, "" when it cannot be told.
func MCPServer(name string) string {
	switch {
	case strings.HasPrefix(name, "mcp__"):
		server, _, _ := strings.Cut(name[len("mcp__"):], "__")
		return server
	case strings.HasPrefix(name, "@"):
		server, _, _ := strings.Cut(name[1:], "/")
		return server
	}
	return ""
}
