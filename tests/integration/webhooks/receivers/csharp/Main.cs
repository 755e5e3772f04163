using System;
using System.Collections.Generic;
using System.Text;

class Program
{
    static void Main()
    {
        while (Console.ReadLine() is string line)
        {
            var fields = new Dictionary<string, byte[]>();
            foreach (string field in line.Split(' '))
            {
                string[] parts = field.Split(':');
                fields[parts[0]] = Convert.FromBase64String(parts[1]);
            }
            Func<string, string> header = name =>
                fields.TryGetValue(name, out byte[] value) ? Encoding.GetEncoding("iso-8859-1").GetString(value) : null;
            try
            {
                Console.WriteLine(Webhook.IsAuthentic(header("secret"), header, fields["body"]));
            }
            catch (FormatException)
            {
                Console.WriteLine("unusable");
            }
        }
    }
}
