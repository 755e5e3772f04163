from tests.support.mysql import MySqlServer


def test_a_server_keeps_a_binary_log_and_has_a_time_zone_with_a_summer_time(mysql_server: MySqlServer) -> None:
    """Both decide what triggers may do, and what they see."""
    with mysql_server.connect() as conn, conn.cursor() as cursor:
        cursor.execute("select @@log_bin, @@time_zone, unix_timestamp('2026-07-01') - unix_timestamp('2026-01-01')")
        is_logged, zone, seconds = cursor.fetchone()
    assert (is_logged, zone, int(seconds) % 86400) == (1, "SYSTEM", 82800)
