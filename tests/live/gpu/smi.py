"""What nvidia-smi says, under the names the agent uses, and how the two compare."""
import re
import subprocess
import xml.etree.ElementTree as ET

# How far outside what nvidia-smi said just before and just after a value that moves may lie; all others must be equal.
TOLERANCE = {'DCGM_FI_DEV_GPU_TEMP': 2, 'DCGM_FI_DEV_GPU_TEMP_LIMIT': 2, 'DCGM_FI_DEV_MEMORY_TEMP': 2,
             'DCGM_FI_DEV_POWER_USAGE': 25,
             'DCGM_FI_DEV_SM_CLOCK': 60, 'DCGM_FI_DEV_GPU_UTIL': 15, 'DCGM_FI_DEV_MEM_COPY_UTIL': 15, 'DCGM_FI_DEV_FB_USED': 2,
             'DCGM_FI_DEV_FB_FREE': 2, 'DCGM_FI_DEV_FB_RESERVED': 2}
NUMBERS = {
    'DCGM_FI_DEV_GPU_TEMP': 'temperature/gpu_temp', 'DCGM_FI_DEV_GPU_TEMP_LIMIT': 'temperature/gpu_temp_tlimit',
    'DCGM_FI_DEV_MEMORY_TEMP': 'temperature/memory_temp', 'DCGM_FI_DEV_POWER_USAGE': 'gpu_power_readings/average_power_draw',
    'DCGM_FI_DEV_ENFORCED_POWER_LIMIT': 'gpu_power_readings/current_power_limit', 'DCGM_FI_DEV_SM_CLOCK': 'clocks/sm_clock',
    'DCGM_FI_DEV_MEM_CLOCK': 'clocks/mem_clock', 'DCGM_FI_DEV_GPU_UTIL': 'utilization/gpu_util',
    'DCGM_FI_DEV_MEM_COPY_UTIL': 'utilization/memory_util', 'DCGM_FI_DEV_FB_USED': 'fb_memory_usage/used',
    'DCGM_FI_DEV_FB_FREE': 'fb_memory_usage/free', 'DCGM_FI_DEV_FB_RESERVED': 'fb_memory_usage/reserved',
    'DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS': 'remapped_rows/remapped_row_corr',
    'DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS': 'remapped_rows/remapped_row_unc',
    'DCGM_FI_DEV_PCIE_LINK_GEN': 'pci/pci_gpu_link_info/pcie_gen/current_link_gen',
    'DCGM_FI_DEV_PCIE_LINK_WIDTH': 'pci/pci_gpu_link_info/link_widths/current_link_width',
    'DCGM_FI_DEV_PCIE_MAX_LINK_GEN': 'pci/pci_gpu_link_info/pcie_gen/max_link_gen',
    'DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH': 'pci/pci_gpu_link_info/link_widths/max_link_width',
    'DCGM_FI_DEV_PCIE_REPLAY_COUNTER': 'pci/replay_counter'}
TEXTS = {'uuid': 'uuid', 'serial': 'serial', 'vbios': 'vbios_version', 'model': 'product_name', 'part': 'board_part_number',
         'inforom': 'inforom_version/img_version', 'minor': 'minor_number'}
FLAGS = {'DCGM_FI_DEV_ROW_REMAP_PENDING': 'remapped_rows/remapped_row_pending',
         'DCGM_FI_DEV_ROW_REMAP_FAILURE': 'remapped_rows/remapped_row_failure',
         'DCGM_FI_DEV_THRESHOLD_SRM': 'ecc_errors/aggregate/sram_threshold_exceeded'}
REASONS = {'gpu_idle': 1, 'applications_clocks_setting': 2, 'sw_power_cap': 4, 'hw_slowdown': 8, 'sync_boost': 16,
           'sw_thermal_slowdown': 32, 'hw_thermal_slowdown': 64, 'hw_power_brake_slowdown': 128, 'display_clocks_setting': 256}
ACTIONS = ('None', 'GPU Reset', 'Node Reboot', 'Drain P2P', 'Drain and Reset')
CORRECTED = ('sram_correctable', 'dram_correctable')
UNCORRECTED = ('sram_uncorrectable_parity', 'sram_uncorrectable_secded', 'dram_uncorrectable')


def ask():
    """Of the first GPU: name -> number or text; None where nvidia-smi has nothing to say."""
    xml = subprocess.run(['nvidia-smi', '-q', '-x'], capture_output=True, text=True, timeout=60).stdout
    root = ET.fromstring(xml[xml.index('<?xml'):])
    gpu = root.find('gpu')

    def text(path):
        found = gpu.findtext(path)
        return None if found in (None, 'N/A') else found

    def number(path):
        found = re.match(r'\s*(-?[0-9.]+)', text(path) or '')
        return float(found[1]) if found else None

    def total(kind, names):
        found = [number(f'ecc_errors/{kind}/{name}') for name in names]
        return None if all(n is None for n in found) else sum(n or 0 for n in found)

    out = {'driver_version': root.findtext('driver_version'), 'cuda_version': root.findtext('cuda_version'), 'pci': gpu.get('id')}
    out.update({name: text(path) for name, path in TEXTS.items()})
    out.update({name: number(path) for name, path in NUMBERS.items()})
    out.update({name: None if text(path) is None else float(text(path) == 'Yes') for name, path in FLAGS.items()})
    for kind, word in (('volatile', 'VOL'), ('aggregate', 'AGG')):
        out[f'DCGM_FI_DEV_ECC_SBE_{word}_TOTAL'] = total(kind, CORRECTED)
        out[f'DCGM_FI_DEV_ECC_DBE_{word}_TOTAL'] = total(kind, UNCORRECTED)
    active = [bit for name, bit in REASONS.items()
              if gpu.findtext('clocks_event_reasons/clocks_event_reason_' + name) == 'Active']
    out['DCGM_FI_DEV_CLOCK_THROTTLE_REASONS'] = float(sum(active))
    action = text('gpu_recovery_action')
    out['DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION'] = float(ACTIONS.index(action)) if action in ACTIONS else None
    out['muster_gpu_processes'] = float(len(gpu.findall('processes/process_info')))
    return out


def differences(before, agent, after):
    """Prints each field; the names of those that do not match."""
    wrong = []
    for name, low in before.items():
        mine, high = agent.get(name), after[name]
        if low is None or high is None:
            continue
        if isinstance(low, str):
            same = str(mine) == low
        elif name == 'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS':
            same = mine in (low, high)
        else:
            slack = TOLERANCE.get(name, 0)
            same = mine is not None and min(low, high) - slack <= mine <= max(low, high) + slack
        print(f'    {name:42} nvidia-smi {low!s:>22}, agent {mine!s:>22}, nvidia-smi {high!s:>22}{"" if same else "   DIFFERS"}')
        if not same:
            wrong.append(name)
    return wrong
