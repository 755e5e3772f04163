[secret] = System.argv()

for line <- IO.stream(:stdio, :line) do
  fields =
    for field <- String.split(line) do
      [name, text] = String.split(field, ":")
      {name, Base.decode64!(text)}
    end

  {[{"body", body}], headers} = Enum.split_with(fields, fn {name, _} -> name == "body" end)
  IO.puts(Webhook.authentic?(secret, headers, body))
end
