# Completion of queue-server for bash. Put this into ~/.bashrc:
#   source <(queue-server completion bash)
_queue_server() {
	local i word glue='' row value words=()
	# bash splits words at = and : too; put them together again.
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ ${#words[@]} -gt 0 && ($word == [=:]* || -n $glue) ]]; then
			words[${#words[@]} - 1]+=$word
		else
			words+=("$word")
		fi
		glue=''
		if [[ $word == *[=:] ]]; then glue=1; fi
	done
	word=${words[${#words[@]} - 1]}
	# What comes before the last = or : stays on the line.
	local kept=${word%"$2"}
	COMPREPLY=()
	while IFS= read -r row; do
		if [[ $row == :file ]]; then
			compopt -o default 2>/dev/null
			continue
		fi
		value=${row%%$'\t'*}
		COMPREPLY+=("${value#"$kept"}")
	done < <("$1" __complete "${words[@]}" 2>/dev/null)
	if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
}
complete -F _queue_server queue-server
