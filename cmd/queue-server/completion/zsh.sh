#compdef queue-server
# Completion of queue-server for zsh. Put this into ~/.zshrc, after compinit:
#   source <(queue-server completion zsh)
_queue_server() {
	local row value
	local -a plain open
	for row in "${(@f)$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $row ]] || continue
		if [[ $row == :file ]]; then
			_files
			continue
		fi
		value=${row%%$'\t'*}
		# _describe takes value:description.
		row=${value//:/\\:}${${row#$value}/#$'\t'/:}
		if [[ $value == *= ]]; then open+=("$row"); else plain+=("$row"); fi
	done
	(( $#plain )) && _describe queue-server plain
	(( $#open )) && _describe queue-server open -S ''
	return 0
}
# A file _queue-server on the fpath, as packages have it, is read at the first
# completion, and is to complete at once.
if [[ ${funcstack[1]-} == _queue-server ]]; then
	_queue_server
else
	compdef _queue_server queue-server
fi
