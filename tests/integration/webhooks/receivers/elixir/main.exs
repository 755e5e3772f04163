for line <- IO.stream(:stdio, :line) do
  fields =
    for field <- String.split(line) do
      [name, text] = String.split(field, ":")
      {name, Base.decode64!(text)}
    end

  %{"secret" => secret, "body" => body} = Map.new(fields)
  headers = Enum.reject(fields, fn {name, _} -> name in ["secret", "body"] end)

  try do
    IO.puts(Webhook.authentic?(secret, headers, body))
  rescue
    ArgumentError -> IO.puts("unusable")
  end
end
